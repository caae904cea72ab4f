/* tcpinfo_t and tcpsinfo_t: a segment's header, and the state of a connection. */

#pragma D depends_on module vmlinux
#pragma D depends_on library inet.d
#pragma D depends_on library tcpstate.d

typedef struct tcpinfo {
	uint16_t tcp_sport;
	uint16_t tcp_dport;
	uint32_t tcp_seq;
	uint32_t tcp_ack;
	uint8_t tcp_offset;
	uint8_t tcp_flags;
	uint16_t tcp_window;
	uint16_t tcp_checksum;
	uint16_t tcp_urgent;
	tcph_t *tcp_hdr;
} tcpinfo_t;

translator tcpinfo_t < struct tcphdr *T > {
	tcp_sport = T == NULL ? 0 : ntohs(T->source);
	tcp_dport = T == NULL ? 0 : ntohs(T->dest);
	tcp_seq = T == NULL ? 0 : ntohl(T->seq);
	tcp_ack = T == NULL ? 0 : ntohl(T->ack_seq);
	tcp_offset = T == NULL ? 0 : T->doff * 4;
	tcp_flags = T == NULL ? 0 : *((uint8_t *)T + 13);
	tcp_window = T == NULL ? 0 : ntohs(T->window);
	tcp_checksum = T == NULL ? 0 : ntohs(T->check);
	tcp_urgent = T == NULL ? 0 : ntohs(T->urg_ptr);
	tcp_hdr = T;
};

translator tcpinfo_t < struct sk_buff *S > {
	tcp_sport = S == NULL ? 0 : ntohs(__skb_tcp[S]->source);
	tcp_dport = S == NULL ? 0 : ntohs(__skb_tcp[S]->dest);
	tcp_seq = S == NULL ? 0 : ntohl(__skb_tcp[S]->seq);
	tcp_ack = S == NULL ? 0 : ntohl(__skb_tcp[S]->ack_seq);
	tcp_offset = S == NULL ? 0 : __skb_tcp[S]->doff * 4;
	tcp_flags = S == NULL ? 0 : *((uint8_t *)__skb_tcp[S] + 13);
	tcp_window = S == NULL ? 0 : ntohs(__skb_tcp[S]->window);
	tcp_checksum = S == NULL ? 0 : ntohs(__skb_tcp[S]->check);
	tcp_urgent = S == NULL ? 0 : ntohs(__skb_tcp[S]->urg_ptr);
	tcp_hdr = S == NULL ? NULL : __skb_tcp[S];
};

typedef struct tcpsinfo {
	uintptr_t tcps_addr;
	int tcps_local;
	int tcps_active;
	uint16_t tcps_lport;
	uint16_t tcps_rport;
	string tcps_laddr;
	string tcps_raddr;
	int32_t tcps_state;
	uint32_t tcps_iss;
	uint32_t tcps_irs;
	uint32_t tcps_suna;
	uint32_t tcps_smax;
	uint32_t tcps_snxt;
	uint32_t tcps_rack;
	uint32_t tcps_rnxt;
	uint32_t tcps_swnd;
	int32_t tcps_snd_ws;
	uint32_t tcps_rwnd;
	int32_t tcps_rcv_ws;
	uint32_t tcps_cwnd;
	uint32_t tcps_cwnd_ssthresh;
	uint32_t tcps_sack_fack;
	uint32_t tcps_sack_snxt;
	uint32_t tcps_rto;
	uint32_t tcps_mss;
	int tcps_retransmit;
} tcpsinfo_t;

inline struct tcp_sock *__tcp[struct sock *s] = (struct tcp_sock *)s;
inline struct sock_common *__tcp_common[struct tcp_sock *t] = (struct sock_common *)t;

/* Windows are in segments, the timeout in jiffies; the initiator and its sequence numbers are not recorded. */
translator tcpsinfo_t < struct tcp_sock *T > {
	tcps_addr = (uintptr_t)T;
	tcps_local = T == NULL ? 0 : __tcp_common[T]->skc_daddr == __tcp_common[T]->skc_rcv_saddr;
	tcps_active = 0;
	tcps_lport = T == NULL ? 0 : __tcp_common[T]->skc_num;
	tcps_rport = T == NULL ? 0 : ntohs(__tcp_common[T]->skc_dport);
	tcps_laddr = T == NULL ? "<unknown>" : __tcp_common[T]->skc_family == AF_INET6 ?
	    inet_ntoa6(&__tcp_common[T]->skc_v6_rcv_saddr) : inet_ntoa(&__tcp_common[T]->skc_rcv_saddr);
	tcps_raddr = T == NULL ? "<unknown>" : __tcp_common[T]->skc_family == AF_INET6 ?
	    inet_ntoa6(&__tcp_common[T]->skc_v6_daddr) : inet_ntoa(&__tcp_common[T]->skc_daddr);
	tcps_state = T == NULL ? TCP_STATE_CLOSED : __tcp_common[T]->skc_state;
	tcps_iss = 0;
	tcps_irs = 0;
	tcps_suna = T == NULL ? 0 : T->snd_una;
	tcps_smax = T == NULL ? 0 : T->snd_nxt;
	tcps_snxt = T == NULL ? 0 : T->snd_nxt;
	tcps_rack = T == NULL ? 0 : T->rcv_wup;
	tcps_rnxt = T == NULL ? 0 : T->rcv_nxt;
	tcps_swnd = T == NULL ? 0 : T->snd_wnd;
	tcps_snd_ws = T == NULL ? 0 : T->rx_opt.snd_wscale;
	tcps_rwnd = T == NULL ? 0 : T->rcv_wnd;
	tcps_rcv_ws = T == NULL ? 0 : T->rx_opt.rcv_wscale;
	tcps_cwnd = T == NULL ? 0 : T->snd_cwnd;
	tcps_cwnd_ssthresh = T == NULL ? 0 : T->snd_ssthresh;
	tcps_sack_fack = T == NULL ? 0 : T->snd_una;
	tcps_sack_snxt = T == NULL ? 0 : T->snd_nxt;
	tcps_rto = T == NULL ? 0 : T->inet_conn.icsk_rto;
	tcps_mss = T == NULL ? 0 : T->mss_cache;
	tcps_retransmit = T == NULL ? 0 : T->inet_conn.icsk_retransmits;
};

translator tcpsinfo_t < struct sock *S > {
	tcps_addr = (uintptr_t)S;
	tcps_local = S == NULL ? 0 : S->__sk_common.skc_daddr == S->__sk_common.skc_rcv_saddr;
	tcps_active = 0;
	tcps_lport = S == NULL ? 0 : S->__sk_common.skc_num;
	tcps_rport = S == NULL ? 0 : ntohs(S->__sk_common.skc_dport);
	tcps_laddr = S == NULL ? "<unknown>" : S->__sk_common.skc_family == AF_INET6 ?
	    inet_ntoa6(&S->__sk_common.skc_v6_rcv_saddr) : inet_ntoa(&S->__sk_common.skc_rcv_saddr);
	tcps_raddr = S == NULL ? "<unknown>" : S->__sk_common.skc_family == AF_INET6 ?
	    inet_ntoa6(&S->__sk_common.skc_v6_daddr) : inet_ntoa(&S->__sk_common.skc_daddr);
	tcps_state = S == NULL ? TCP_STATE_CLOSED : S->__sk_common.skc_state;
	tcps_iss = 0;
	tcps_irs = 0;
	tcps_suna = S == NULL ? 0 : __tcp[S]->snd_una;
	tcps_smax = S == NULL ? 0 : __tcp[S]->snd_nxt;
	tcps_snxt = S == NULL ? 0 : __tcp[S]->snd_nxt;
	tcps_rack = S == NULL ? 0 : __tcp[S]->rcv_wup;
	tcps_rnxt = S == NULL ? 0 : __tcp[S]->rcv_nxt;
	tcps_swnd = S == NULL ? 0 : __tcp[S]->snd_wnd;
	tcps_snd_ws = S == NULL ? 0 : __tcp[S]->rx_opt.snd_wscale;
	tcps_rwnd = S == NULL ? 0 : __tcp[S]->rcv_wnd;
	tcps_rcv_ws = S == NULL ? 0 : __tcp[S]->rx_opt.rcv_wscale;
	tcps_cwnd = S == NULL ? 0 : __tcp[S]->snd_cwnd;
	tcps_cwnd_ssthresh = S == NULL ? 0 : __tcp[S]->snd_ssthresh;
	tcps_sack_fack = S == NULL ? 0 : __tcp[S]->snd_una;
	tcps_sack_snxt = S == NULL ? 0 : __tcp[S]->snd_nxt;
	tcps_rto = S == NULL ? 0 : __tcp[S]->inet_conn.icsk_rto;
	tcps_mss = S == NULL ? 0 : __tcp[S]->mss_cache;
	tcps_retransmit = S == NULL ? 0 : __tcp[S]->inet_conn.icsk_retransmits;
};

typedef struct tcplsinfo {
	int32_t tcps_state;
} tcplsinfo_t;

translator tcplsinfo_t < int S > {
	tcps_state = S;
};
