package natstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates writes into dir the files of deploy/cluster/secrets.sh: ca.pem, server.pem for
// addresses, and one certificate for each user, each with its key.
func Certificates(dir string, addresses []string, users ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := certificate("authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	signer := authority{dir, ca, key}
	if err := signer.write("ca", ca, key); err != nil {
		return err
	}
	server := certificate("nats")
	for _, address := range addresses {
		server.IPAddresses = append(server.IPAddresses, net.ParseIP(address))
	}
	if err := signer.sign("server", server); err != nil {
		return err
	}
	for _, user := range users {
		if err := signer.sign(user, certificate(user)); err != nil {
			return err
		}
	}
	return nil
}

type authority struct {
	dir string
	ca  *x509.Certificate
	key *ecdsa.PrivateKey
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// sign creates a key and writes it and its certificate.
func (a authority) sign(name string, c *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return a.write(name, c, key)
}

func (a authority) write(name string, c *x509.Certificate, key *ecdsa.PrivateKey) error {
	signed, err := x509.CreateCertificate(rand.Reader, c, a.ca, key.Public(), a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: signed}, name + "-key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}
