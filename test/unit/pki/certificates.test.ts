// What Node's own TLS reader (and openssl's rules behind it) make of our certificates.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createCa, issue, type Pair } from '../../../src/pki/certificates.ts';

const read = (pair: Pair) => new X509Certificate(pair.cert);

describe('createCa', () => {
  it('is self-signed, a CA, and valid for a year from a little before now', async () => {
    const ca = read(await createCa('root'));
    expect(ca.ca).toBe(true);
    expect(ca.verify(ca.publicKey)).toBe(true);
    expect(ca.subject).toBe('CN=root');
    const days = (Date.parse(ca.validTo) - Date.parse(ca.validFrom)) / 86_400_000;
    expect(days).toBe(365);
    expect(Date.parse(ca.validFrom)).toBeLessThan(Date.now());
  });

  it('makes intermediates', async () => {
    const root = await createCa('root');
    const middle = await createCa('middle', { issuer: root });
    const leaf = await issue(middle, { cn: 'leaf', usages: ['client'] });
    expect(read(middle).checkIssued(read(root))).toBe(true);
    expect(read(middle).verify(read(root).publicKey)).toBe(true);
    expect(read(leaf).checkIssued(read(middle))).toBe(true);
    expect(read(leaf).ca).toBe(false);
  });
});

describe('issue', () => {
  it('writes every O, the CN, the names and the usages', async () => {
    const ca = await createCa('root');
    const pair = await issue(ca, {
      cn: 'jos\u00e9@example.com',
      o: ['system:masters', 'team_a'],
      sans: ['localhost', '127.0.0.1', '::1'],
      usages: ['server', 'client'],
    });
    const cert = read(pair);
    expect(cert.subject.split('\n')).toEqual(['O=system:masters', 'O=team_a', 'CN=jos\u00e9@example.com']);
    expect(cert.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
    expect(cert.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    expect(cert.checkPrivateKey(createPrivateKey(pair.key))).toBe(true);
    expect(cert.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  it('can leave the CN out and can be over already', async () => {
    const ca = await createCa('root');
    const notBefore = new Date(Date.now() - 3 * 86_400_000);
    const cert = read(await issue(ca, { o: ['nobody'], usages: ['client'], days: 1, notBefore }));
    expect(cert.subject).toBe('O=nobody');
    expect(Date.parse(cert.validTo)).toBeLessThan(Date.now());
  });

  it('serves mutual TLS', async () => {
    const ca = await createCa('root');
    const server = await issue(ca, { cn: 's', sans: ['kubernetes.default.svc'], usages: ['server'] });
    const client = await issue(ca, { cn: 'c', usages: ['client'] });
    const listener = tls.createServer({ ...server, ca: ca.cert, requestCert: true }, (socket) =>
      socket.end(),
    );
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      servername: 'kubernetes.default.svc',
      ca: ca.cert,
      ...client,
    });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.resume();
    await once(socket, 'close');
    listener.close();
  });
});
