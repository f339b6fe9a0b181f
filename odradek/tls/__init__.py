"""TLS without sockets: what key stores hold, contexts of OpenSSL from settings, and names in certificates.

    der                  the little of ASN.1 that is read here
    jks, stores          key and trust stores (PEM, PKCS12, JKS) as PEM text
    ciphers              names of cipher suites
    contexts             `ssl.SSLContext` from `config.tls.TlsSettings`
    certificates         what a certificate says of itself
    distinguished_names  the subject of a certificate as Java writes it
    principal_mapping    ssl.principal.mapping.rules

Shared by the broker and by the command; imported where TLS is configured, and only there.
"""
