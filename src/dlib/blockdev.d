/*
 * The device of a request where the kernel has several paths to one NVMe disk. A request begins at the disk (nvme0n1)
 * or a partition and ends at the path that it took (nvme0c0n1): both count as the disk here. The partition is lost.
 */

#pragma D depends_on module vmlinux

inline int __is_nvme[struct gendisk *d] =
    d->disk_name[0] == 'n' && d->disk_name[1] == 'v' && d->disk_name[2] == 'm' && d->disk_name[3] == 'e';
inline int __is_nvme_path[struct gendisk *d] = __is_nvme[d] && strchr(stringof(d->disk_name), 'c') != NULL;
/* Requests to the multipath disk are passed on unchanged: it has no hardware queues. */
inline int __is_nvme_head[struct gendisk *d] = __is_nvme[d] && d->queue->mq_ops == NULL;
inline struct block_device *__device[struct block_device *D] =
    __is_nvme_path[D->bd_disk] ? ((struct nvme_ns *)D->bd_disk->private_data)->head->disk->part0 :
    __is_nvme_head[D->bd_disk] ? D->bd_disk->part0 : D;
