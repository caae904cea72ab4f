/* udpinfo_t and udpsinfo_t: a datagram's header, and a UDP socket. */

#pragma D depends_on module vmlinux
#pragma D depends_on library inet.d

typedef struct udpinfo {
	uint16_t udp_sport;
	uint16_t udp_dport;
	uint16_t udp_length;
	uint16_t udp_checksum;
	udph_t *udp_hdr;
} udpinfo_t;

translator udpinfo_t < struct udphdr *U > {
	udp_sport = U == NULL ? 0 : ntohs(U->source);
	udp_dport = U == NULL ? 0 : ntohs(U->dest);
	udp_length = U == NULL ? 0 : ntohs(U->len);
	udp_checksum = U == NULL ? 0 : ntohs(U->check);
	udp_hdr = U;
};

translator udpinfo_t < struct sk_buff *S > {
	udp_sport = S == NULL ? 0 : ntohs(__skb_udp[S]->source);
	udp_dport = S == NULL ? 0 : ntohs(__skb_udp[S]->dest);
	udp_length = S == NULL ? 0 : ntohs(__skb_udp[S]->len);
	udp_checksum = S == NULL ? 0 : ntohs(__skb_udp[S]->check);
	udp_hdr = S == NULL ? NULL : __skb_udp[S];
};

typedef struct udpsinfo {
	uintptr_t udps_addr;
	uint16_t udps_lport;
	uint16_t udps_rport;
	string udps_laddr;
	string udps_raddr;
} udpsinfo_t;

translator udpsinfo_t < struct sock *S > {
	udps_addr = (uintptr_t)S;
	udps_lport = S == NULL ? 0 : S->__sk_common.skc_num;
	udps_rport = S == NULL ? 0 : ntohs(S->__sk_common.skc_dport);
	udps_laddr = S == NULL ? "<unknown>" : S->__sk_common.skc_family == AF_INET6 ?
	    inet_ntoa6(&S->__sk_common.skc_v6_rcv_saddr) : inet_ntoa(&S->__sk_common.skc_rcv_saddr);
	udps_raddr = S == NULL ? "<unknown>" : S->__sk_common.skc_family == AF_INET6 ?
	    inet_ntoa6(&S->__sk_common.skc_v6_daddr) : inet_ntoa(&S->__sk_common.skc_daddr);
};
