// Attack: a client says that it is a peer proxy (`x-kubernetes-peer-proxied`), which makes servers answer for
// themselves only, or that it is this very proxy. Both are removed (A9, 2.6); a real loop is refused.

import { expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';

it.each([
  ['x-kubernetes-peer-proxied', 'true'],
  ['X-Kubernetes-Peer-Proxied', 'true'],
  ['X-KUBERNETES-PEER-PROXIED', ''],
  ['x-uvip-instance', '00000000-0000-0000-0000-000000000000'],
  ['X-Uvip-Instance', 'x'],
])('%s: %s is removed, and the request is routed as any other', async (name, value) => {
  const [old, young] = await Promise.all([
    stage.peer({ name: 'old', version: '1.34', serves: { v1: ['pods'] } }),
    stage.peer({
      name: 'young',
      version: '1.36',
      serves: { v1: ['pods'], 'policy/v1': ['poddisruptionbudgets'] },
    }),
  ]);
  const proxy = await stage.proxy([old, young]);
  const headers = [name, value, name.toLowerCase(), value];
  for (const path of [PODS, '/apis/policy/v1/poddisruptionbudgets', '/logs/x']) {
    expect((await h1(proxy, path, { headers })).status).toBe(200);
    expect((await stage.h2(proxy).ask(path, { headers })).status).toBe(200);
  }
  for (const request of [...old.clients, ...young.clients]) {
    const ours = name.toLowerCase() === 'x-uvip-instance' ? 1 : 0; // the mark of this very proxy
    expect(request.values(name)).toHaveLength(ours);
    expect(request.values(name)).not.toContain(value);
  }
  // And nobody can pass for uvip itself towards our counts of clients' requests.
  expect(old.clients.length + young.clients.length).toBe(6);
});
