"""Who a client is: the exchanges of SASL, as a state of its connection before anything else is answered."""
