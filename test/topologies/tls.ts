import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate authority and one certificate for both ends of a connection on loopback, made for this run. */
export interface Certificates {
  /** Paths, for redis.conf. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  /** The same as texts, for a client. */
  readonly texts: { readonly ca: string; readonly cert: string; readonly key: string };
  remove(): Promise<void>;
}

export async function makeCertificates(): Promise<Certificates> {
  const dir = await mkdtemp(join(tmpdir(), 'fair-lock-tls-'));
  const file = (name: string): string => join(dir, name);
  const openssl = async (...args: string[]): Promise<void> => {
    await run('openssl', args, { cwd: dir }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new Error(
        'The TLS tests make their certificates with openssl, and there is none on the PATH: install it.',
      );
    });
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  writeFileSync(file('san.cnf'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  await openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=fair lock tests',
  );
  await openssl(
    'req',
    ...key.slice(0, -2),
    '-keyout',
    'end.key',
    '-out',
    'end.csr',
    '-subj',
    '/CN=127.0.0.1',
  );
  const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
  await openssl(
    'x509',
    '-req',
    '-in',
    'end.csr',
    ...signer,
    '-days',
    '2',
    '-extfile',
    'san.cnf',
    '-out',
    'end.pem',
  );
  const files = { ca: file('ca.pem'), cert: file('end.pem'), key: file('end.key') };
  const text = (path: string): string => readFileSync(path, 'utf8');
  return {
    files,
    texts: { ca: text(files.ca), cert: text(files.cert), key: text(files.key) },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
