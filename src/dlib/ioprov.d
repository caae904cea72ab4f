/* The arguments of io's probes. */

#pragma D depends_on library io.d

provider io {
	probe start(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
	probe done(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
	probe wait__start(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
	probe wait__done(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
};

#pragma D attributes Evolving/Evolving/ISA provider io provider
#pragma D attributes Private/Private/Unknown provider io module
#pragma D attributes Private/Private/Unknown provider io function
#pragma D attributes Evolving/Evolving/ISA provider io name
#pragma D attributes Evolving/Evolving/ISA provider io args
