/* The arguments of udp's probes. */

#pragma D depends_on library udp.d

provider udp {
	probe send(struct sk_buff *s, struct sock *k, struct udphdr *u) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, udpsinfo_t *k, udpinfo_t *u);
	probe receive(struct sk_buff *s, struct sock *k, struct udphdr *u) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, udpsinfo_t *k, udpinfo_t *u);
};

#pragma D attributes Evolving/Evolving/ISA provider udp provider
#pragma D attributes Private/Private/Unknown provider udp module
#pragma D attributes Private/Private/Unknown provider udp function
#pragma D attributes Evolving/Evolving/ISA provider udp name
#pragma D attributes Evolving/Evolving/ISA provider udp args
