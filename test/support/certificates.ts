import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KeyPair {
  key: string;
  cert: string;
}

export interface Certificates {
  /** The authority that the tests trust. */
  ca: string;
  /** Signed by `ca`, for 127.0.0.1 and localhost. */
  good: KeyPair;
  /** Signed by `ca`, for localhost but not for its address. */
  byName: KeyPair;
  /** Signed by `ca`, but no longer valid. */
  expired: KeyPair;
  /** Signed by `ca`, for another host. */
  wrongHost: KeyPair;
  /** Signed by an unknown authority. */
  unknownIssuer: KeyPair;
  selfSigned: KeyPair;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const LOOPBACK = 'IP:127.0.0.1,DNS:localhost';

/** Makes certificates with the `openssl` command, which must be installed. No file of them remains. */
export function createCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  };
  const pair = (name: string): KeyPair => ({
    key: readFileSync(file(`${name}.key`), 'utf8'),
    cert: readFileSync(file(`${name}.pem`), 'utf8'),
  });
  const root = (name: string, subjectAltName: string): KeyPair => {
    openssl('req', '-x509', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-days', '2',
      '-subj', `/CN=${name}`, '-addext', `subjectAltName=${subjectAltName}`); // prettier-ignore
    return pair(name);
  };
  const leaf = (name: string, authority: string, subjectAltName: string, days: number): KeyPair => {
    openssl('req', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`,
      '-subj', `/CN=${name}`, '-addext', `subjectAltName=${subjectAltName}`); // prettier-ignore
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${authority}.pem`, '-CAkey', `${authority}.key`,
      '-copy_extensions', 'copy', '-days', String(days), '-out', `${name}.pem`); // prettier-ignore
    return pair(name);
  };
  try {
    const ca = root('trusted', 'DNS:trusted.test').cert;
    root('stranger', 'DNS:stranger.test');
    return {
      ca,
      good: leaf('good', 'trusted', LOOPBACK, 2),
      byName: leaf('by-name', 'trusted', 'DNS:localhost', 2),
      expired: leaf('expired', 'trusted', LOOPBACK, -1),
      wrongHost: leaf('wrong-host', 'trusted', 'DNS:elsewhere.test', 2),
      unknownIssuer: leaf('unknown-issuer', 'stranger', LOOPBACK, 2),
      selfSigned: root('self-signed', LOOPBACK),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
