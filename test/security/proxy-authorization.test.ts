// Attack surface: credentials and hop-by-hop headers that are meant for this hop. None of them reaches a peer (E13).

import { expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';

it.each([
  'Proxy-Authorization',
  'proxy-authorization',
  'Proxy-Connection',
  'Keep-Alive',
  'TE',
  'HTTP2-Settings',
])('%s stays here', async (name) => {
  const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer]);
  const value = name === 'TE' ? 'trailers' : 'Basic c2VjcmV0';
  expect((await h1(proxy, PODS, { headers: [name, value, 'X-Other', 'passes'] })).status).toBe(200);
  const { values, rawHeaders } = peer.clients[0]!;
  expect(values(name).filter((v) => v === value)).toEqual([]);
  expect(rawHeaders.join()).not.toContain('c2VjcmV0');
  expect(values('x-other')).toEqual(['passes']);
});

it('Proxy-Authorization stays here over HTTP/2 as well, and Authorization passes', async () => {
  const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer]);
  const headers = ['proxy-authorization', 'Basic c2VjcmV0', 'authorization', 'Bearer t'];
  expect((await stage.h2(proxy).ask(PODS, { headers })).status).toBe(200);
  const { values } = peer.clients[0]!;
  expect(values('proxy-authorization')).toEqual([]);
  expect(values('authorization')).toEqual(['Bearer t']);
});
