import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A certificate for both ends of a connection on loopback, made for this run, which is its own authority. */
export interface Certificate {
  /** Paths, for redis.conf. */
  readonly files: { readonly cert: string; readonly key: string };
  /** For a client. */
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  remove(): Promise<void>;
}

export async function makeCertificate(): Promise<Certificate> {
  const dir = await mkdtemp(join(tmpdir(), 'fair-lock-tls-'));
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', files.key];
  const who = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const args = ['req', '-x509', '-days', '2', ...key, ...who, '-out', files.cert];
  await promisify(execFile)('openssl', args).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(
      'The TLS tests make their certificate with openssl, and there is none on the PATH: install it.',
    );
  });
  const cert = readFileSync(files.cert, 'utf8');
  return {
    files,
    tls: { ca: cert, cert, key: readFileSync(files.key, 'utf8') },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
