/* The arguments of tcp's probes. */

#pragma D depends_on library tcp.d

provider tcp {
	probe connect__request(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe connect__established(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe connect__refused(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe accept__established(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe accept__refused(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe send(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe receive(struct sk_buff *s, struct sock *k, struct tcphdr *t) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, tcpsinfo_t *k, tcpinfo_t *t);
	probe state__change(void *v, struct sock *k, int before) :
	    (void *v, csinfo_t *k, void *v, tcpsinfo_t *k, void *v, tcplsinfo_t *before);
};

#pragma D attributes Evolving/Evolving/ISA provider tcp provider
#pragma D attributes Private/Private/Unknown provider tcp module
#pragma D attributes Private/Private/Unknown provider tcp function
#pragma D attributes Evolving/Evolving/ISA provider tcp name
#pragma D attributes Evolving/Evolving/ISA provider tcp args
