// Accept headers, one row a rule. Rows marked "recorded" are answers of the 1.36 test API server.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptsJson, negotiateDiscovery } from '../../../src/core/accept.ts';

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const BETA = V2.replace('=v2;', '=v2beta1;');
const V3 = V2.replace('=v2;', '=v3;');

describe('negotiateDiscovery and acceptsJson', () => {
  it.each([
    // Recorded; where we differ on purpose the row says so.
    [undefined, 'legacy', true],
    ['', 'legacy', true],
    ['application/json', 'legacy', true],
    ['*/*', 'legacy', true],
    ['text/html', undefined, false],
    [V2, 'v2', false],
    [`${V2};profile=nopeer`, 'nopeer', false],
    [`${V2};profile=unknown`, 'v2', false],
    [V3, undefined, false],
    [`${V2},${BETA},application/json`, 'v2', true],
    [`application/json,${V2}`, 'v2', true],
    [BETA, 'v2beta1', false], // 406 there since 1.35, merged here
    ['application/yaml', undefined, false], // 200 there, we have JSON only
    ['application/vnd.kubernetes.protobuf', undefined, false], // 200 there
    [V2.replace('json', 'vnd.kubernetes.protobuf'), undefined, false], // 200 there
    // Which clause wins.
    [`application/json, ${V2};q=0.1`, 'v2', true],
    [`${BETA},${V2}`, 'v2beta1', false],
    [`${BETA};q=0.5,${V2};q=0.6`, 'v2', false],
    [`${V2};q=0.6,${BETA};q=0.5`, 'v2', false],
    [`${BETA},application/json`, 'v2beta1', true],
    [`${V3},application/json;q=0.1`, 'legacy', true],
    ['text/html, */*;q=0.1', 'legacy', true],
    // q.
    [`${V2};q=0`, undefined, false],
    [`${V2};q=0.000,${BETA};q=0.001`, 'v2beta1', false],
    [`${V2};q=0,application/json`, 'legacy', true],
    ['application/json;q=0', undefined, false],
    ['application/json;q=0, */*', undefined, false],
    ['*/*, application/json;q=0', undefined, false],
    ['*/*;q=0, application/json', 'legacy', true],
    ['application/*;q=0, */*', undefined, false],
    ['application/json;q=0, application/json;q=0.5', 'legacy', true],
    ['application/json;q=0.5, application/json;q=0', 'legacy', true],
    ['application/json;q=', 'legacy', true],
    ['application/json;q=high', 'legacy', true],
    [`${V2};q=high,${BETA};q=0.1`, 'v2beta1', false],
    [`${V2};q=-1`, 'v2', false],
    // Media ranges.
    ['application/*', 'legacy', true],
    ['*', 'legacy', true],
    ['*/json', undefined, false],
    ['application', undefined, false],
    ['application/', undefined, false],
    ['application/json/x', undefined, false],
    ['text/json', undefined, false],
    [V2.replace('application/json', '*/*'), 'v2', false],
    [V2.replace('json', '*'), 'v2', false],
    // Parameters.
    ['application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io', 'v2', false],
    [`${V2};charset=utf-8;foo`, 'v2', false],
    ['application/json;charset=utf-8', 'legacy', true],
    ['application/json;profile=nopeer', 'legacy', true],
    [`${BETA};profile=nopeer`, 'nopeer', false],
    [`application/json;profile=nopeer;${V2.slice(17)}`, 'nopeer', false],
    ['application/json;v=v2', undefined, false],
    ['application/json;g=apidiscovery.k8s.io;v=v2', undefined, false],
    ['application/json;as=Table;v=v1;g=meta.k8s.io', undefined, false],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'legacy', true],
    [V2.replace('=v2;', '=V2;'), undefined, false],
    ['application/json;as=;g=;v=', 'legacy', true],
    ['application/json;stream=watch', 'legacy', true],
    ['application/json;stream=other', undefined, false],
    ['application/json;sv=1', undefined, false],
    ['application/json;v=v1;v=', undefined, false],
    [`${V3};v=v2`, 'v2', false],
    ['application/json;toString=1;__proto__=x;=;==', 'legacy', true],
    // Blanks, case, quotes.
    [
      ' APPLICATION/Json ;\tG = apidiscovery.k8s.io ; V=v2; AS=APIGroupDiscoveryList ; Profile=nopeer ',
      'nopeer',
      false,
    ],
    ['application / json', 'legacy', true],
    ['application/json;g="apidiscovery.k8s.io";v="v2";as="APIGroup\\DiscoveryList"', 'v2', false],
    [`application/json;x="a,b;v=v9\\",c",${BETA}`, 'v2beta1', true],
    [`text/html;x="${V2},`, undefined, false],
    ['application/json;v="', undefined, false],
    [',,application/json,', 'legacy', true],
    [',', undefined, false],
    ['  ', 'legacy', true],
  ] as const)('%j: %s, %s', (accept, format, plain) => {
    expect(negotiateDiscovery(accept)).toBe(format);
    expect(acceptsJson(accept)).toBe(plain);
  });

  it('never throws, and never says less to /apis than to plain documents', () => {
    const piece = fc.constantFrom(V2, BETA, 'application/json', '*/*', ';q=0', ',', ';', '"', '\\', '=', ' ');
    const header = fc.array(fc.oneof(piece, fc.string()), { maxLength: 20 }).map((all) => all.join(''));
    fc.assert(
      fc.property(header, (accept) => {
        if (acceptsJson(accept)) expect(negotiateDiscovery(accept)).toBeDefined();
      }),
      { numRuns: 2000 },
    );
  });

  it('takes linear time', () => {
    for (const piece of [',', ';', '"', '\\', 'a=b;', '*/*,', '*/*;q=', ' ', '/', '"\\"', `${V2},`]) {
      const header = `application/json;${piece.repeat(Math.floor(1_048_576 / piece.length))}`;
      const start = performance.now();
      negotiateDiscovery(header);
      expect(performance.now() - start).toBeLessThan(2000);
    }
  });
});
