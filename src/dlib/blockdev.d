/*
 * The device of a request where the kernel has several paths to one NVMe disk. A request begins at the disk (nvme0n1), or at a
 * partition of it, and ends at the path that it took (nvme0c0n1): both are the disk here. The partition is not known at the end.
 */

#pragma D depends_on module vmlinux

inline int __is_nvme[struct gendisk *d] =
    d->disk_name[0] == 'n' && d->disk_name[1] == 'v' && d->disk_name[2] == 'm' && d->disk_name[3] == 'e';
inline int __is_nvme_path[struct gendisk *d] = __is_nvme[d] && strchr(stringof(d->disk_name), 'c') != NULL;
/* Requests to the disk above the paths are handed on as they are: it has no queues of the hardware. */
inline int __is_nvme_head[struct gendisk *d] = __is_nvme[d] && d->queue->mq_ops == NULL;
inline struct block_device *__device[struct block_device *D] =
    __is_nvme_path[D->bd_disk] ? ((struct nvme_ns *)D->bd_disk->private_data)->head->disk->part0 :
    __is_nvme_head[D->bd_disk] ? D->bd_disk->part0 : D;
