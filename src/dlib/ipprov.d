/* The arguments of ip's probes. */

#pragma D depends_on library inet.d

provider ip {
	probe send(struct sk_buff *s, struct sock *k, struct net_device *n, struct iphdr *v4, struct ipv6hdr *v6) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, ifinfo_t *n, ipv4info_t *v4, ipv6info_t *v6);
	probe receive(struct sk_buff *s, struct sock *k, struct net_device *n, struct iphdr *v4, struct ipv6hdr *v6) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, ifinfo_t *n, ipv4info_t *v4, ipv6info_t *v6);
	probe drop__in(struct sk_buff *s, struct sock *k, struct net_device *n, struct iphdr *v4, struct ipv6hdr *v6) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, ifinfo_t *n, ipv4info_t *v4, ipv6info_t *v6);
	probe drop__out(struct sk_buff *s, struct sock *k, struct net_device *n, struct iphdr *v4, struct ipv6hdr *v6) :
	    (pktinfo_t *s, csinfo_t *k, ipinfo_t *s, ifinfo_t *n, ipv4info_t *v4, ipv6info_t *v6);
};

#pragma D attributes Evolving/Evolving/ISA provider ip provider
#pragma D attributes Private/Private/Unknown provider ip module
#pragma D attributes Private/Private/Unknown provider ip function
#pragma D attributes Evolving/Evolving/ISA provider ip name
#pragma D attributes Evolving/Evolving/ISA provider ip args
