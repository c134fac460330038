// Attack: a target that the proxy judges as one path and the peer serves as another. What can be read in two ways is
// refused with a 400 Status; everything else reaches the peer byte for byte (H1, H6 to H8).

import { beforeAll, describe, expect, it } from 'vitest';
import type { FakePeer } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';

const stage = useStage();

let peer: FakePeer;
let proxy: RunningProxy;

beforeAll(async () => {
  peer = await stage.peer({
    name: 'a',
    serves: {
      v1: [
        { name: 'pods', subresources: { proxy: ['get'] } },
        { name: 'services', subresources: { proxy: ['get'] } },
      ],
    },
  });
  proxy = await stage.proxy([peer]);
});

async function sendTarget(target: string): Promise<string> {
  const client = stage.raw(proxy);
  client.send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await client.ended;
  return client.received;
}

describe('refused, and no peer hears of it', () => {
  it.each([
    ['a backslash', '/api/v1/a\\b'],
    ['backslashes for slashes', '\\api\\v1\\pods'],
    ['a backslash in the query', '/api/v1/pods?a=\\b'],
    ['..', '/api/v1/namespaces/n/pods/../../secrets'],
    ['escaped ..', '/api/v1/namespaces/n/pods/%2e%2e/secrets'],
    ['half-escaped ..', '/api/v1/namespaces/n/pods/.%2E/secrets'],
    ['.. behind an escaped slash', '/api/v1/namespaces/n/pods%2F..%2Fsecrets'],
    ['.', '/api/v1/./pods'],
    ['.. at the end', '/api/v1/pods/..'],
    ['.. in front of a proxy subresource', '/api/v1/namespaces/../services/s/proxy/x'],
    ['a broken escape', '/api/v1/pods/%zz'],
    ['a cut escape', '/api/v1/pods/%2'],
    ['an escaped NUL', '/api/v1/pods/a%00b'],
    ['an escaped line end', '/api/v1/pods/a%0d%0ab'],
    ['a bare control byte', '/api/v1/pods/a\x01b'],
    ['a DEL', '/api/v1/pods/a\x7fb'],
    ['a tab', '/api/v1/pods\t'],
    ['no slash', 'api/v1/pods'],
    ['an asterisk', '*'],
    ['a verb and nothing', '/api/v1/watch'],
    ['bytes that are no ASCII', '/api/v1/pods/\xe4\xff'], // llhttp's word
  ])('%s', async (_, target) => {
    peer.forget();
    const answer = await sendTarget(target);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(peer.clients).toEqual([]);
  });

  it.each(['/api/v1/a\\b', '/api/v1/pods/../x', '/api/v1/pods/%zz'])('%s over HTTP/2', async (target) => {
    peer.forget();
    const answer = await stage.h2(proxy).ask(target);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ kind: 'Status', code: 400, reason: 'BadRequest' });
    expect(peer.clients).toEqual([]);
  });
});

describe('unchanged, byte for byte', () => {
  it.each([
    '/api/v1/namespaces/n/services/s/proxy/a%2Fb//c?x=1;y=2',
    '/api/v1/namespaces/n/services/s/proxy/../up',
    '/api/v1/namespaces/n/services/s/proxy/%2e%2e/up',
    '/api/v1/namespaces/n/services/s/proxy',
    '/api/v1/namespaces/n/services/s/proxy/',
    '/api/v1/namespaces/n/services/https:s:443/proxy/?',
    '/api/v1/pods?',
    '/api/v1/pods?labelSelector=a%3Db,c+in+(d,e)&limit=500&limit=1',
    '/api/v1/pods?fieldSelector=metadata.name%3D%C3%A4',
    "/api/v1/namespaces/n/pods/a'b(c)*!~:@$&+,=;d",
    '/api/v1/namespaces//pods',
    '/api/v1/namespaces/n/pods/p%20q',
    '/%61pi/v1/pods',
    '//api/v1/pods',
    '/api/v1/pods/',
    '/logs/a%2Fb?c=%00',
    '/api/v1/pods?a=[b]{c}|d^`"<>',
  ])('%s', async (target) => {
    peer.forget();
    expect(await sendTarget(target)).toMatch(/^HTTP\/1\.1 200 /);
    expect(peer.clients.map((request) => request.target)).toEqual([target]);
  });
});
