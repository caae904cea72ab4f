/* Packets, connections and interfaces for the providers ip, tcp and udp, over the network stack's types. */

#pragma D depends_on module vmlinux
#pragma D depends_on library socket.d

typedef uint32_t ipaddr_t;
typedef struct in6_addr in6_addr_t;
typedef struct iphdr ipha_t;
typedef struct ipv6hdr ip6_t;
typedef struct tcphdr tcph_t;
typedef struct udphdr udph_t;
typedef uint32_t netstackid_t;
typedef int zoneid_t;

inline struct iphdr *__skb_ip[struct sk_buff *s] = (struct iphdr *)(s->head + s->network_header);
inline struct ipv6hdr *__skb_ip6[struct sk_buff *s] = (struct ipv6hdr *)(s->head + s->network_header);
inline struct tcphdr *__skb_tcp[struct sk_buff *s] = (struct tcphdr *)(s->head + s->transport_header);
inline struct udphdr *__skb_udp[struct sk_buff *s] = (struct udphdr *)(s->head + s->transport_header);

typedef struct pktinfo {
	uintptr_t pkt_addr;
} pktinfo_t;

translator pktinfo_t < struct sk_buff *S > {
	pkt_addr = (uintptr_t)S;
};

typedef struct csinfo {
	uintptr_t cs_addr;
	uint64_t cs_cid;
	pid_t cs_pid;
	zoneid_t cs_zoneid;
} csinfo_t;

/* The kernel does not record the process that created a socket. */
translator csinfo_t < struct sock *S > {
	cs_addr = (uintptr_t)S;
	cs_cid = S == NULL ? 0 : (uint64_t)S;
	cs_pid = -1;
	cs_zoneid = 0;
};

typedef struct ipinfo {
	uint8_t ip_ver;
	uint32_t ip_plength;
	string ip_saddr;
	string ip_daddr;
} ipinfo_t;

translator ipinfo_t < struct iphdr *I > {
	ip_ver = I == NULL ? 0 : I->version;
	ip_plength = I == NULL ? 0 : ntohs(I->tot_len) - I->ihl * 4;
	ip_saddr = I == NULL ? "<unknown>" : inet_ntoa(&I->saddr);
	ip_daddr = I == NULL ? "<unknown>" : inet_ntoa(&I->daddr);
};

translator ipinfo_t < struct ipv6hdr *I > {
	ip_ver = I == NULL ? 0 : I->version;
	ip_plength = I == NULL ? 0 : ntohs(I->payload_len);
	ip_saddr = I == NULL ? "<unknown>" : inet_ntoa6(&I->saddr);
	ip_daddr = I == NULL ? "<unknown>" : inet_ntoa6(&I->daddr);
};

translator ipinfo_t < struct sk_buff *S > {
	ip_ver = S == NULL ? 0 : __skb_ip[S]->version;
	ip_plength = S == NULL ? 0 : __skb_ip[S]->version == 4 ?
	    ntohs(__skb_ip[S]->tot_len) - __skb_ip[S]->ihl * 4 : ntohs(__skb_ip6[S]->payload_len);
	ip_saddr = S == NULL ? "<unknown>" : __skb_ip[S]->version == 4 ?
	    inet_ntoa(&__skb_ip[S]->saddr) : inet_ntoa6(&__skb_ip6[S]->saddr);
	ip_daddr = S == NULL ? "<unknown>" : __skb_ip[S]->version == 4 ?
	    inet_ntoa(&__skb_ip[S]->daddr) : inet_ntoa6(&__skb_ip6[S]->daddr);
};

/* For a connection: from here to the peer. */
translator ipinfo_t < struct sock *S > {
	ip_ver = S == NULL ? 0 : S->__sk_common.skc_family == AF_INET6 ? 6 : 4;
	ip_plength = 0;
	ip_saddr = S == NULL ? "<unknown>" : S->__sk_common.skc_family == AF_INET6 ?
	    inet_ntoa6(&S->__sk_common.skc_v6_rcv_saddr) : inet_ntoa(&S->__sk_common.skc_rcv_saddr);
	ip_daddr = S == NULL ? "<unknown>" : S->__sk_common.skc_family == AF_INET6 ?
	    inet_ntoa6(&S->__sk_common.skc_v6_daddr) : inet_ntoa(&S->__sk_common.skc_daddr);
};

typedef struct ifinfo {
	string if_name;
	int8_t if_local;
	netstackid_t if_ipstack;
	uintptr_t if_addr;
} ifinfo_t;

translator ifinfo_t < struct net_device *N > {
	if_name = N == NULL ? "<null>" : stringof(N->name);
	if_local = N == NULL || (N->flags & 8) != 0;
	if_ipstack = 0;
	if_addr = (uintptr_t)N;
};

inline int IPH_DF = 0x4000;
inline int IPH_MF = 0x2000;
inline string __protocol[int p] =
    p == IPPROTO_TCP ? "TCP" : p == IPPROTO_UDP ? "UDP" : p == IPPROTO_ICMP ? "ICMP" : p == IPPROTO_ICMPV6 ? "ICMPV6" :
    p == IPPROTO_IGMP ? "IGMP" : p == IPPROTO_SCTP ? "SCTP" : p == IPPROTO_ESP ? "ESP" : p == IPPROTO_AH ? "AH" :
    p == IPPROTO_GRE ? "GRE" : p == IPPROTO_IPIP ? "IPIP" : p == IPPROTO_RAW ? "RAW" : lltostr(p);

typedef struct ipv4info {
	uint8_t ipv4_ver;
	uint8_t ipv4_ihl;
	uint8_t ipv4_tos;
	uint16_t ipv4_length;
	uint16_t ipv4_ident;
	uint8_t ipv4_flags;
	uint16_t ipv4_offset;
	uint8_t ipv4_ttl;
	uint8_t ipv4_protocol;
	string ipv4_protostr;
	uint16_t ipv4_checksum;
	ipaddr_t ipv4_src;
	ipaddr_t ipv4_dst;
	string ipv4_saddr;
	string ipv4_daddr;
	ipha_t *ipv4_hdr;
} ipv4info_t;

translator ipv4info_t < struct iphdr *I > {
	ipv4_ver = I == NULL ? 0 : I->version;
	ipv4_ihl = I == NULL ? 0 : I->ihl * 4;
	ipv4_tos = I == NULL ? 0 : I->tos;
	ipv4_length = I == NULL ? 0 : ntohs(I->tot_len);
	ipv4_ident = I == NULL ? 0 : ntohs(I->id);
	ipv4_flags = I == NULL ? 0 : ntohs(I->frag_off) >> 13;
	ipv4_offset = I == NULL ? 0 : ntohs(I->frag_off) & 0x1fff;
	ipv4_ttl = I == NULL ? 0 : I->ttl;
	ipv4_protocol = I == NULL ? 0 : I->protocol;
	ipv4_protostr = I == NULL ? "<null>" : __protocol[I->protocol];
	ipv4_checksum = I == NULL ? 0 : ntohs(I->check);
	ipv4_src = I == NULL ? 0 : I->saddr;
	ipv4_dst = I == NULL ? 0 : I->daddr;
	ipv4_saddr = I == NULL ? "<null>" : inet_ntoa(&I->saddr);
	ipv4_daddr = I == NULL ? "<null>" : inet_ntoa(&I->daddr);
	ipv4_hdr = I;
};

typedef struct ipv6info {
	uint8_t ipv6_ver;
	uint8_t ipv6_tclass;
	uint32_t ipv6_flow;
	uint16_t ipv6_plen;
	uint8_t ipv6_nexthdr;
	string ipv6_nextstr;
	uint8_t ipv6_hlim;
	in6_addr_t *ipv6_src;
	in6_addr_t *ipv6_dst;
	string ipv6_saddr;
	string ipv6_daddr;
	ip6_t *ipv6_hdr;
} ipv6info_t;

translator ipv6info_t < struct ipv6hdr *I > {
	ipv6_ver = I == NULL ? 0 : I->version;
	ipv6_tclass = I == NULL ? 0 : I->priority << 4 | I->flow_lbl[0] >> 4;
	ipv6_flow = I == NULL ? 0 : (I->flow_lbl[0] & 15) << 16 | I->flow_lbl[1] << 8 | I->flow_lbl[2];
	ipv6_plen = I == NULL ? 0 : ntohs(I->payload_len);
	ipv6_nexthdr = I == NULL ? 0 : I->nexthdr;
	ipv6_nextstr = I == NULL ? "<null>" : __protocol[I->nexthdr];
	ipv6_hlim = I == NULL ? 0 : I->hop_limit;
	ipv6_src = I == NULL ? NULL : &I->saddr;
	ipv6_dst = I == NULL ? NULL : &I->daddr;
	ipv6_saddr = I == NULL ? "<null>" : inet_ntoa6(&I->saddr);
	ipv6_daddr = I == NULL ? "<null>" : inet_ntoa6(&I->daddr);
	ipv6_hdr = I;
};
