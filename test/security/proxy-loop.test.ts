// A peer address that leads back to the proxy, at once or by way of another proxy: such a peer is misconfigured and
// gets nothing, and a request that comes round in a circle is 508 and does not go round again (field note A9).

import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { freePorts } from '../support/free-ports.ts';
import { useStage } from '../support/stage.ts';
import { openGate } from '../support/tcp-gate.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';
let asPeer: string[];
let peerCa: string;

/** A listener that peers' clients trust: it may stand where an API server should. */
beforeAll(async () => {
  const { cert, key } = await stage.pki.issuePeer(['kubernetes.default.svc', 'localhost', '127.0.0.1']);
  const file = (name: string) => path.join(stage.pki.dir, name);
  await writeFile(file('as-peer.crt'), cert);
  await writeFile(file('as-peer.key'), key);
  peerCa = await readFile(file('peer-ca.crt'), 'utf8');
  asPeer = ['--tls-cert-file', file('as-peer.crt'), '--tls-private-key-file', file('as-peer.key')];
});

const trusted = (port: number) => ({ port, ca: peerCa });

it('a peer that is this proxy is misconfigured, and the others serve', async () => {
  const [port] = await freePorts(1);
  const peer = await stage.peer({ name: 'real', serves: { v1: ['pods'] } });
  const proxy = await stage.youngProxy(
    [peer, `self=127.0.0.1:${port!}`],
    ['--secure-port', String(port), ...asPeer],
  );
  await until('it is known', async () => {
    const { peers } = await proxy.snapshot();
    return (
      peers.find(({ name }) => name === 'self')?.state === 'misconfigured' && peers.some(({ ready }) => ready)
    );
  });
  for (let i = 0; i < 30; i++) {
    const { status } = await h1(trusted(port!), PODS, { headers: ['Authorization', `Bearer ${i}`] });
    expect(status).toBe(200);
  }
  expect(peer.clients).toHaveLength(30);
});

it('a request that carries our own instance id is a 508 Status; alone, such a peer leaves a 503', async () => {
  const [port] = await freePorts(1);
  const proxy = await stage.youngProxy(
    [`self=127.0.0.1:${port!}`],
    ['--secure-port', String(port), ...asPeer],
  );
  await until('it is known', async () => (await proxy.snapshot()).peers[0]?.state === 'misconfigured');
  const { status, json } = await h1(trusted(port!), PODS);
  expect(status).toBe(503);
  expect(json).toMatchObject({ kind: 'Status', code: 503 });
});

it('a request that comes round by an address that led elsewhere before is 508, and goes round once', async () => {
  const [port] = await freePorts(1);
  const peer = await stage.peer({ name: 'real', serves: { v1: ['pods'] } });
  // A balancer that took our own requests to a server, and takes connections made later to us.
  const balancer = await openGate(peer.port);
  try {
    const flags = ['--secure-port', String(port), ...asPeer, '--request-timeout', '3s'];
    await stage.proxy([`balanced=127.0.0.1:${balancer.port}`], flags);
    const before = balancer.accepted;
    balancer.lead(port!);
    const { status, json } = await h1(trusted(port!), PODS);
    expect([status, balancer.accepted - before]).toEqual([508, 1]);
    expect(json).toMatchObject({ kind: 'Status', reason: 'LoopDetected' });
  } finally {
    balancer.close();
  }
});
