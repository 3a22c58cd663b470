//! Models: providers over HTTP, recorded and scripted replies.
