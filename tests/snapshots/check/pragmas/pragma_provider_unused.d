#pragma D attributes Evolving/Evolving/Common provider nosuch provider
BEGIN { }
