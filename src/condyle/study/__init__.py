"""Many takes as one study: listed or found, fitted by many processes, with tables and one page over all of them."""
