/* Places of the mib probes on Linux; arg0 is the counter's increment. A bare string names the nearest probe. */

#pragma D depends_on module vmlinux

provider mib {
	/* TCP states: 1 established, 2 SYN sent, 3 SYN received, 7 closed, 8 close wait; 6 is IPPROTO_TCP. */
	probe tcpActiveOpens(uint64_t n) = "sdt:::inet_sock_set_state" if (args[0]->sk_protocol == 6
	    && args[2] == 2) (1);
	probe tcpPassiveOpens(uint64_t n) = "fbt::tcp_create_openreq_child:return" if (arg1) (1);
	probe tcpAttemptFails(uint64_t n) =
	    "sdt:::inet_sock_set_state" if (args[0]->sk_protocol == 6 && args[2] == 7
	    && (args[1] == 2 || args[1] == 3)) (1);
	probe tcpEstabResets(uint64_t n) = "sdt:::inet_sock_set_state" if (args[0]->sk_protocol == 6
	    && args[2] == 7 && (args[1] == 1 || args[1] == 8)) (1);
	probe tcpInSegs(uint64_t n) = "fbt::tcp_v4_rcv:entry", "fbt::tcp_v6_rcv:entry" (1);
	probe tcpOutSegs(uint64_t n) =
	    "mib:::tcpOutDataSegs; fbt::__tcp_transmit_skb:entry, without what listening and closed ports answer";
	probe tcpOutDataSegs(uint64_t n) =
	    "fbt::__tcp_transmit_skb:entry" if (args[1]->len) (((struct tcp_skb_cb *)&args[1]->cb[0])->tcp_gso_segs);
	probe tcpOutDataBytes(uint64_t n) =
	    "fbt::__tcp_transmit_skb:entry" if (args[1]->len) (args[1]->len);
	probe tcpRetransSegs(uint64_t n) =
	    "fbt::__tcp_retransmit_skb:return" if ((int)arg1 == 0) (1);
	probe tcpTimRetrans(uint64_t n) = "fbt::tcp_retransmit_timer:entry" (1);
	probe tcpOutRsts(uint64_t n) =
	    "fbt::tcp_v4_send_reset:entry, which also decides not to send one; sdt:::tcp_send_reset, for connections";

	probe udpInDatagrams(uint64_t n) =
	    "fbt::__udp_enqueue_schedule_skb:return" if ((int)arg1 == 0) (1);
	probe udpOutDatagrams(uint64_t n) = "fbt::udp_send_skb:return",
	    "fbt::udp_v6_send_skb:return" if ((int)arg1 == 0) (1);
	probe udpInOverflows(uint64_t n) = "sdt:::udp_fail_queue_rcv_skb" (1);

	probe icmpInMsgs(uint64_t n) = "fbt::icmp_rcv:entry" (1);
	probe icmpInEchos(uint64_t n) = "fbt::icmp_echo:entry" (1);
	probe icmpOutMsgs(uint64_t n) = "fbt::icmp_out_count:entry" (1);
	probe icmpOutEchoReps(uint64_t n) =
	    "fbt::icmp_out_count:entry" if ((args[1] & 255) == 0) (1);
	probe icmpOutDestUnreachs(uint64_t n) =
	    "fbt::icmp_out_count:entry" if ((args[1] & 255) == 3) (1);
	probe icmpOutTimeExcds(uint64_t n) =
	    "fbt::icmp_out_count:entry" if ((args[1] & 255) == 11) (1);

	probe ipIfStatsHCInReceives(uint64_t n) = "fbt::ip_rcv_core:entry" (1);
	probe ipIfStatsHCOutRequests(uint64_t n) = "fbt::__ip_local_out:entry" (1);
	probe ipInReceives(uint64_t n) = "fbt::ip_rcv_core:entry" (1);
	probe ipOutRequests(uint64_t n) = "fbt::__ip_local_out:entry" (1);

	probe tcpInDataInorderBytes(uint64_t n) =
	    "fbt::tcp_recvmsg:return /(int)arg1 > 0/, the bytes that programs read";
	probe tcpInDataInorderSegs(uint64_t n) = "mib:::tcpInSegs; fbt::tcp_data_queue:entry";
	probe tcpInDataDupBytes(uint64_t n) =
	    "fbt::tcp_send_dupack:entry, one for each such segment";
	probe tcpInDataDupSegs(uint64_t n) = "fbt::tcp_send_dupack:entry";
	probe tcpInDataUnorderBytes(uint64_t n) =
	    "kinst::tcp_data_queue_ofo:entry, one for each such segment";
	probe tcpInDataUnorderSegs(uint64_t n) = "kinst::tcp_data_queue_ofo:entry";
	probe tcpInAckBytes(uint64_t n) = "fbt::tcp_ack:entry";
	probe tcpInAckSegs(uint64_t n) = "fbt::tcp_ack:entry";
	probe tcpInDupAck(uint64_t n) = "fbt::tcp_ack:entry";
	probe tcpOutAck(uint64_t n) = "fbt::__tcp_send_ack:entry";
	probe tcpOutAckDelayed(uint64_t n) = "fbt::tcp_delack_timer_handler:entry";
	probe tcpRetransBytes(uint64_t n) = "mib:::tcpRetransSegs";
	probe tcpListenDrop(uint64_t n) = "kinst::tcp_listendrop:entry";
	probe tcpListenDropQ0(uint64_t n) = "kinst::tcp_listendrop:entry";
	probe tcpHalfOpenDrop(uint64_t n) = "kinst::tcp_listendrop:entry";
	probe tcpTimKeepalive(uint64_t n) = "fbt::tcp_keepalive_timer:entry";
	probe tcpTimKeepaliveProbe(uint64_t n) = "fbt::tcp_write_wakeup:entry";
	probe tcpRttUpdate(uint64_t n) = "fbt::tcp_ack:entry";
	probe udpInErrors(uint64_t n) =
	    "mib:::udpInOverflows; sdt:::kfree_skb, with the reason in arg2";
	probe udpNoPorts(uint64_t n) = "sdt:::kfree_skb, with the reason in arg2";
	probe rawipInDatagrams(uint64_t n) = "fbt::raw_rcv:entry";
	probe rawipOutDatagrams(uint64_t n) = "fbt::raw_sendmsg:entry";
};
