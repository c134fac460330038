// OpenAPI in its first form: the union of the v3 roots, every document from the peer whose hash the root shows, v2
// from the newest; and `/version` from the oldest.

import { expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { openApiHash } from '../support/peer-documents.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();

const peers = () =>
  Promise.all([
    stage.peer({
      name: 'new',
      version: '1.36',
      openApi: true,
      serves: { v1: ['pods'], 'apps/v1': ['deployments'], 'policy/v1': ['poddisruptionbudgets'] },
    }),
    stage.peer({
      name: 'old',
      version: '1.30',
      openApi: true,
      serves: { v1: ['pods'], 'apps/v1': ['deployments'], 'relics.example.com/v1': ['relics'] },
    }),
    stage.peer({ name: 'ancient', version: '1.20', speaks: 'legacy', serves: { v1: ['pods'] } }),
  ]);

interface Root {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

it('the root is the union, and following it leads to that very document, without a redirect (B9)', async () => {
  const [one, two, three] = await peers();
  const proxy = await stage.proxy([one, two, three]);
  const root = await h1(proxy, '/openapi/v3');
  expect(root.status).toBe(200);
  expect(root.values('content-type')).toEqual(['application/json']);
  expect(root.values('etag')[0]).toMatch(/^"[0-9A-F]{128}"$/);
  const { paths } = root.json as Root;
  expect(Object.keys(paths)).toEqual([
    'api/v1',
    'apis/apps/v1',
    'apis/policy/v1',
    'apis/relics.example.com/v1',
  ]);
  const owners = {
    'api/v1': 'new',
    'apis/apps/v1': 'new',
    'apis/policy/v1': 'new',
    'apis/relics.example.com/v1': 'old',
  };
  for (const [path, owner] of Object.entries(owners)) {
    const { serverRelativeURL } = paths[path]!;
    expect(serverRelativeURL).toBe(`/openapi/v3/${path}?hash=${openApiHash(owner, path)}`);
    for (let i = 0; i < 5; i++) {
      const document = await h1(proxy, serverRelativeURL, { headers: ['Authorization', `Bearer ${i}`] });
      expect(document.status).toBe(200);
      expect(document.json).toMatchObject({ info: { title: owner, version: path } });
    }
  }
});

it('another hash is redirected to ours; no hash, a trailing slash and the v2 of it are served', async () => {
  const [one, two, three] = await peers();
  const proxy = await stage.proxy([one, two, three]);
  const path = 'apis/apps/v1';
  const right = `/openapi/v3/${path}?hash=${openApiHash('new', path)}`;
  for (const hash of ['DEADBEEF', openApiHash('old', path), '']) {
    const answer = await h1(proxy, `/openapi/v3/${path}?hash=${hash}`);
    expect(answer.status).toBe(301);
    expect(answer.values('location')).toEqual([right]);
  }
  expect((await h1(proxy, `/openapi/v3/${path}`)).json).toMatchObject({ info: { title: 'new' } });
  const unknown = await h1(proxy, '/openapi/v3/apis/never.example.com/v1?hash=AB');
  expect(unknown.status).toBe(404); // a peer's own word
});

it('/openapi/v2 comes from the newest ready peer', async () => {
  const [one, two, three] = await peers();
  const proxy = await stage.proxy([one, two, three]);
  for (let i = 0; i < 5; i++) {
    const answer = await h1(proxy, '/openapi/v2', { headers: ['Authorization', `Bearer ${i}`] });
    expect(answer.json).toMatchObject({ info: { title: 'new' } });
  }
  await one.stop();
  await until('from the next', async () => (await h1(proxy, '/openapi/v2')).values('x-peer')[0] === 'old');
});

it('/version comes from the oldest ready peer, for every caller, and does not flap', async () => {
  const [one, two, three] = await peers();
  const proxy = await stage.proxy([one, two, three]);
  for (let i = 0; i < 10; i++) {
    const answer = await h1(proxy, '/version', { headers: ['Authorization', `Bearer ${i}`] });
    expect(answer.json).toMatchObject({ gitVersion: 'v1.20.0' });
  }
  three.ready = 500;
  await until('from the next', async () => (await h1(proxy, '/version')).text.includes('v1.30.0'));
});

it('where no peer has OpenAPI v3 its root is 404, for clients to turn to v2', async () => {
  const peer = await stage.peer({ name: 'a', version: '1.20', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer]);
  const answer = await h1(proxy, '/openapi/v3');
  expect(answer.status).toBe(404);
  expect(answer.text).toBe('404 page not found\n');
});

it('other non-resource requests go to any ready peer', async () => {
  const [one, two, three] = await peers();
  const proxy = await stage.proxy([one, two, three]);
  const seen = new Set<string>();
  for (let i = 0; i < 40; i++) {
    const answer = await h1(proxy, '/logs/kube', { headers: ['Authorization', `Bearer ${i}`] });
    expect(answer.status).toBe(200);
    seen.add(answer.values('x-peer')[0]!);
  }
  expect([...seen].sort()).toEqual(['ancient', 'new', 'old']);
});
