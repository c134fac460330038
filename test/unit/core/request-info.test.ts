// Rows of the RequestInfo tables, one for each rule and accepted form, and what is refused at the door.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRequestInfo, type RequestInfo } from '../../../src/core/request-info.ts';

function info(method: string, target: string): RequestInfo {
  const parsed = parseRequestInfo(method, target);
  if (!parsed.ok) throw new Error(`${target}: ${parsed.failure.detail ?? ''}`);
  return parsed.info;
}

/** verb prefix group version namespace resource subresource name, `-` for ''. */
function words(method: string, target: string): string {
  const i = info(method, target);
  expect(i.isResource).toBe(true);
  const all = [i.verb, i.prefix, i.group, i.version, i.namespace, i.resource, i.subresource, i.name];
  return all.map((word) => word || '-').join(' ');
}

describe('resource requests', () => {
  it.each([
    ['GET', '/api/v1/namespaces', 'list api - v1 - namespaces - -'],
    ['GET', '/api/v1/namespaces/', 'list api - v1 - namespaces - -'],
    ['GET', '/api/v1/namespaces/other', 'get api - v1 other namespaces - other'],
    ['GET', '/api/v1/namespaces/other/pods', 'list api - v1 other pods - -'],
    ['GET', '/api/v1/namespaces/other/pods/foo', 'get api - v1 other pods - foo'],
    ['HEAD', '/api/v1/namespaces/other/pods/foo', 'get api - v1 other pods - foo'],
    ['GET', '/api/v1/pods', 'list api - v1 - pods - -'],
    ['HEAD', '/api/v1/pods', 'list api - v1 - pods - -'],
    ['GET', '/api/v1/nodes/n1', 'get api - v1 - nodes - n1'],
    ['GET', '/api/v1/proxy/namespaces/other/pods/foo', 'proxy api - v1 other pods - foo'],
    [
      'GET',
      '/api/v1/proxy/namespaces/other/pods/foo/subpath/not/a/subresource',
      'proxy api - v1 other pods - foo',
    ],
    ['POST', '/api/v1/proxy/nodes/n1', 'proxy api - v1 - nodes - n1'],
    ['GET', '/api/v1/watch/pods', 'watch api - v1 - pods - -'],
    ['GET', '/api/v1/watch/namespaces', 'watch api - v1 - namespaces - -'],
    ['GET', '/api/v1/watch/nodes/n1', 'watch api - v1 - nodes - n1'],
    ['GET', '/api/v1/pods?watch=true', 'watch api - v1 - pods - -'],
    ['GET', '/api/v1/pods?watch=false', 'list api - v1 - pods - -'],
    ['GET', '/api/v1/watch/namespaces/other/pods', 'watch api - v1 other pods - -'],
    ['GET', '/api/v1/watch/namespaces/other/pods/foo', 'watch api - v1 other pods - foo'],
    ['GET', '/api/v1/namespaces/other/pods?watch=1', 'watch api - v1 other pods - -'],
    ['GET', '/api/v1/namespaces/other/pods?watch=0', 'list api - v1 other pods - -'],
    ['GET', '/api/v1/namespaces/other/pods/foo/status', 'get api - v1 other pods status foo'],
    ['GET', '/api/v1/namespaces/other/pods/foo/proxy/subpath', 'get api - v1 other pods proxy foo'],
    ['PUT', '/api/v1/namespaces/other/finalize', 'update api - v1 other namespaces finalize other'],
    ['PUT', '/api/v1/namespaces/other/status', 'update api - v1 other namespaces status other'],
    ['GET', '/api/v1/namespaces/other/status/x', 'get api - v1 other namespaces status other'],
    ['PATCH', '/api/v1/namespaces/other/pods/foo', 'patch api - v1 other pods - foo'],
    ['DELETE', '/api/v1/namespaces/other/pods/foo', 'delete api - v1 other pods - foo'],
    ['POST', '/api/v1/namespaces/other/pods', 'create api - v1 other pods - -'],
    ['DELETE', '/api/v1/nodes', 'deletecollection api - v1 - nodes - -'],
    ['DELETE', '/api/v1/namespaces', 'deletecollection api - v1 - namespaces - -'],
    ['DELETE', '/api/v1/namespaces/other/pods', 'deletecollection api - v1 other pods - -'],
    [
      'DELETE',
      '/apis/extensions/v1/namespaces/other/pods',
      'deletecollection apis extensions v1 other pods - -',
    ],
    ['POST', '/apis/extensions/v1/namespaces/other/pods', 'create apis extensions v1 other pods - -'],
    [
      'POST',
      '/apis/extensions/v1beta3/namespaces/other/pods',
      'create apis extensions v1beta3 other pods - -',
    ],
    ['GET', '/apis/g/v/namespaces/x/foo', 'list apis g v x foo - -'],
    ['GET', '/apis/g/v/namespaces/x', 'get apis g v x namespaces - x'],
    ['GET', '/apis/g/v/watch/namespaces/x/foo', 'watch apis g v x foo - -'],
    ['GET', '/apis/g/v/watch/namespaces/n/r/x/status', 'watch apis g v n r status x'],
    ['GET', '/apis/g/v/proxy/foo/x/y', 'proxy apis g v - foo - x'],
    ['GET', '/api/version/resource', 'list api - version - resource - -'],
    ['GET', '/api/version/resource/name/subresource', 'get api - version - resource subresource name'],
    [
      'GET',
      '/apis/group/version/resource/name/subresource',
      'get apis group version - resource subresource name',
    ],
    ['GET', '/apis/batch/v1/job', 'list apis batch v1 - job - -'],
    ['GET', '/apis/batch/v1/job/foo', 'get apis batch v1 - job - foo'],
    ['GET', '/apis/batch/v1/job/foo/scale', 'get apis batch v1 - job scale foo'],
    ['GET', '/apis/batch/v1/job/foo/scale/a/b/c/d/e/f', 'get apis batch v1 - job scale foo'],
    // Methods without a verb, and verbs that only GET and DELETE turn into others.
    ['OPTIONS', '/api/v1/pods', '- api - v1 - pods - -'],
    ['get', '/api/v1/pods', '- api - v1 - pods - -'],
    ['POST', '/api/v1/pods?watch=1', 'create api - v1 - pods - -'],
    ['PUT', '/api/v1/pods', 'update api - v1 - pods - -'],
    // A named object stays a get whatever the query says.
    ['GET', '/api/v1/namespaces/other/pods/foo?watch=1', 'get api - v1 other pods - foo'],
    // Slashes: trimmed at both ends, kept inside, and escaped ones are slashes.
    ['GET', '//api/v1/pods', 'list api - v1 - pods - -'],
    ['GET', '/api/v1/pods//', 'list api - v1 - pods - -'],
    ['GET', '/api/v1/namespaces//pods', 'list api - v1 - pods - -'],
    ['GET', '/api/v1//pods', 'get api - v1 - - - pods'],
    ['GET', '/api%2Fv1%2fpods', 'list api - v1 - pods - -'],
    // Escapes: one level, UTF-8 as escapes or as raw bytes, and bytes that are no UTF-8.
    ['GET', '/api/v1/p%6Fds/%61%252e', 'get api - v1 - pods - a%2e'],
    ['GET', '/api/v1/pods/%C3%A9', 'get api - v1 - pods - é'],
    ['GET', '/api/v1/pods/\xc3\xa9', 'get api - v1 - pods - é'],
    ['GET', '/api/v1/pods/%ff\xfe', 'get api - v1 - pods - \ufffd\ufffd'],
    ['GET', '/api/v1/pods/a%3Fb%23c+d#e', 'get api - v1 - pods - a?b#c+d#e'],
    ['GET', '/api/v1/pods/a%01%5C%7f', 'get api - v1 - pods - a\x01\\\x7f'],
    // Names that only look like dot segments.
    ['GET', '/api/v1/pods/...', 'get api - v1 - pods - ...'],
    ['GET', '/api/v1/pods/.a/..b', 'get api - v1 - pods ..b .a'],
    ['GET', '/api/v1/pods/a..', 'get api - v1 - pods - a..'],
    // Dot segments for those behind the API.
    ['GET', '/api/v1/namespaces/n/services/s/proxy/../x', 'get api - v1 n services proxy s'],
    ['GET', '/api/v1/namespaces/n/services/s/proxy/%2e%2e', 'get api - v1 n services proxy s'],
    ['GET', '//api/v1/nodes/n1/proxy/a/.', 'get api - v1 - nodes proxy n1'],
    ['GET', '/api/v1/proxy/namespaces/n/services/s/../x', 'proxy api - v1 n services - s'],
    ['GET', '/api/v1/proxy/nodes/n1/..', 'proxy api - v1 - nodes - n1'],
  ])('%s %s', (method, target, expected) => {
    expect(words(method, target)).toBe(expected);
  });

  it('says it is the decoded path, without the query', () => {
    expect(info('GET', '/api/v1/namespaces/s%2Fp/a?x=%zz').path).toBe('/api/v1/namespaces/s/p/a');
  });
});

describe('non-resource requests', () => {
  it.each([
    ['', ''],
    ['/', ''],
    ['///', ''],
    ['/api', ''],
    ['/api/v1', ''],
    ['/api/version/', ''],
    ['/apis', ''],
    ['/apis/group', ''],
    ['/apis/group/version', 'apis'],
    ['/apis/group/version/', 'apis'],
    ['/apis/version/resource', 'apis'],
    ['/badprefix/version/resource', ''],
    ['/not-api/version/resource/name', ''],
    ['/healthz', ''],
    ['/openapi/v3/apis/apps/v1', ''],
    ['/version?timeout=32s', ''],
  ])('%s', (target, prefix) => {
    expect(info('GET', target)).toEqual({
      isResource: false,
      path: target.replace(/\?.*/, ''),
      verb: 'get',
      prefix,
      group: '',
      version: '',
      namespace: '',
      resource: '',
      subresource: '',
      name: '',
      fieldSelector: '',
      labelSelector: '',
      longRunning: false,
    });
  });

  it('has the lower-case method as its verb', () => {
    expect(info('HEAD', '/livez').verb).toBe('head');
    expect(info('PROPFIND', '/livez').verb).toBe('propfind');
  });
});

describe('selectors', () => {
  const base = '/apis/group/version/resource';
  it.each([
    ['GET', '', '- list - -'],
    ['GET', '?', '- list - -'],
    ['GET', '?fieldSelector=metadata.name=name1', 'name1 list metadata.name=name1 -'],
    ['GET', '?watch=true&fieldSelector=metadata.name=name1', 'name1 watch metadata.name=name1 -'],
    ['GET', '?fieldSelector=foo=bar&labelSelector=baz=qux', '- list foo=bar baz=qux'],
    ['GET', '?fieldSelector=metadata.name=name1,foo', '- list metadata.name=name1,foo -'],
    ['GET', '?fieldSelector=metadata.name=name1,foo&watch=true', '- watch metadata.name=name1,foo -'],
    ['GET', '?fieldSelector=metadata.name=name1,foo&watch=false', '- list metadata.name=name1,foo -'],
    ['DELETE', '?fieldSelector=foo=bar&labelSelector=baz=qux', '- deletecollection foo=bar baz=qux'],
    ['DELETE', '?fieldSelector=metadata.name=a', '- deletecollection metadata.name=a -'],
    [
      'GET',
      '?fieldSelector=metadata.name=foo&fieldSelector=metadata.name=bar&labelSelector=foo=bar&labelSelector=foo=baz',
      'foo list metadata.name=foo foo=bar',
    ],
    ['GET', '/name?fieldSelector=foo=bar&labelSelector=foo=bar', 'name get - -'],
    ['POST', '?fieldSelector=metadata.name=a&labelSelector=foo=bar', '- create - -'],
    ['GET', '?fieldSelector=metadata.name%3Dname1&limit=500', 'name1 list metadata.name=name1 -'],
    ['GET', '?fieldSelector=metadata.name=name1&limit=x', '- list metadata.name=name1 -'],
    ['GET', '?fieldSelector=metadata.name=name1&timeoutSeconds=&watch', '- watch metadata.name=name1 -'],
    ['GET', '?fieldSelector=metadata.name=name1&resourceVersionMatch=x', 'name1 list metadata.name=name1 -'],
  ])('%s …/resource%s', (method, rest, expected) => {
    const i = info(method, base + rest);
    const got = [i.name, i.verb, i.fieldSelector, i.labelSelector].map((word) => word || '-').join(' ');
    expect(got).toBe(expected);
  });

  it.each([
    ['/apis/group/version/watch/resource?fieldSelector=metadata.name=foo&labelSelector=a=b', ''],
    ['/apis/group/version/watch/resource/name?fieldSelector=metadata.name=foo&labelSelector=a=b', 'name'],
  ])('are not read on %s', (target, name) => {
    expect(info('GET', target)).toMatchObject({ verb: 'watch', name, fieldSelector: '', labelSelector: '' });
  });
});

describe('long-running', () => {
  it.each([
    ['GET', '/api/v1/pods?watch=1', true],
    ['GET', '/api/v1/watch/pods', true],
    ['GET', '/api/v1/proxy/nodes/n', true],
    ['GET', '/api/v1/namespaces/n/pods/p?watch', true],
    ['DELETE', '/api/v1/namespaces/n/pods/p?watch=no', true],
    ['GET', '/anything?watch=true', true],
    ['GET', '/debug/pprof/profile', true],
    ['GET', '/api/v1/namespaces/n/pods/p/attach', true],
    ['POST', '/api/v1/namespaces/n/pods/p/exec?command=ls', true],
    ['GET', '/api/v1/namespaces/n/pods/p/proxy', true],
    ['GET', '/api/v1/namespaces/n/pods/p/log', true],
    ['GET', '/api/v1/namespaces/n/pods/p/portforward', true],
    ['GET', '/api/v1/namespaces/n/pods/p/status', false],
    ['GET', '/api/v1/namespaces/n/pods/p?watch=FALSE', false],
    ['GET', '/api/v1/exec', false],
    ['GET', '/api/v1/exec/log', false],
    ['GET', '/debug/flags', false],
    ['GET', '/anything?watch=0', false],
  ])('%s %s: %s', (method, target, expected) => {
    expect(info(method, target).longRunning).toBe(expected);
  });
});

describe('refused with 400', () => {
  it.each([
    ['/api/v1/a\\b', 'backslash'],
    ['/api/v1/pods?x=\\', 'backslash'],
    ['/api/v1/a b', 'blank'],
    ['/api/v1/a\x00', 'control'],
    ['/api/v1/a\r\nX: y', 'control'],
    ['/api/v1/a?\x1f', 'control'],
    ['/api/v1/a\x7f', 'control'],
    ['/api/v1/\u010d\u010a', 'control'],
    ['/api/v1/%zz', 'escape'],
    ['/api/v1/%', 'escape'],
    ['/api/v1/%4', 'escape'],
    ['/api/v1/%4?x', 'escape'],
    ['/api/v1/%/2', 'escape'],
    ['/api/v1/%4g', 'escape'],
    ['/api/v1/%g4', 'escape'],
    ['/api/v1/%4:', 'escape'],
    ['/api/v1/a%00', 'NUL'],
    ['/api/v1/a%0a', 'LF'],
    ['/api/v1/a%0D', 'CR'],
    ['*', 'slash'],
    ['api/v1/pods', 'slash'],
    ['http://host/api/v1/pods', 'slash'],
    ['?watch=1', 'slash'],
    ['/api/v1/watch', 'unable to determine kind and namespace from url'],
    ['/api/v1/watch/', 'unable to determine kind and namespace from url'],
    ['/api/v1/proxy', 'unable to determine kind and namespace from url'],
    ['/apis/g/v/watch', 'unable to determine kind and namespace from url'],
    ['/api/v1/namespaces/../pods', 'dot'],
    ['/api/v1/pods/.', 'dot'],
    ['/api/v1/pods/..', 'dot'],
    ['/api/v1/pods/%2e%2E/x', 'dot'],
    ['/api/v1/pods/%2e%2e%2fx', 'dot'],
    ['/api/v1/pods/.%2e/', 'dot'],
    ['/../api/v1/pods', 'dot'],
    ['/healthz/../api/v1/secrets', 'dot'],
    ['/..', 'dot'],
    ['/api/v1/pods/.a/../b', 'dot'],
    ['/api/v1/namespaces/n/pods/p/exec/..', 'dot'],
    ['/apis/g/v/r/n/s/1/2/3/4/../5', 'dot'],
    // The API's own part of a proxied request is not exempt, nor what only looks proxied.
    ['/api/v1/namespaces/../services/s/proxy/x', 'dot'],
    ['/api/v1/namespaces/n/services/../proxy/x', 'dot'],
    ['//api/v1/namespaces/n/services/../proxy/x', 'dot'],
    ['/api/v1/namespaces//services/../proxy', 'dot'],
    ['/api/v1/proxy/nodes/..', 'dot'],
    ['////api/v1/proxy/nodes/..', 'dot'],
    ['/api/v1/namespaces/proxy/../x', 'dot'],
    ['/api/v1/namespaces/n/proxy/../x', 'dot'],
  ])('%j: %s', (target, why) => {
    const parsed = parseRequestInfo('GET', target);
    expect(parsed).toMatchObject({ ok: false, failure: { code: 'BAD_TARGET' } });
    expect(!parsed.ok && parsed.failure.detail).toContain(why);
  });
});

describe('properties', () => {
  it('never throws', () => {
    const piece = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'namespaces',
      'proxy',
      'watch',
      '%2',
      '%2e',
      '..',
      '?',
      '&',
    );
    const target = fc
      .array(fc.oneof(piece, fc.string()), { maxLength: 12 })
      .map((all) => `/${all.join('/')}`);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), target), fc.string(), (anything, method) => {
        const parsed = parseRequestInfo(method, anything);
        expect(parsed.ok || parsed.failure.code).toBe(parsed.ok || 'BAD_TARGET');
      }),
      { numRuns: 2000 },
    );
  });

  it('decodes what encodeURIComponent encodes', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => !/[/\0\r\n]/.test(text) && !/^\.\.?$/.test(text));
    fc.assert(
      fc.property(name, (text) => {
        expect(info('GET', `/api/v1/pods/${encodeURIComponent(text)}/log`).name).toBe(text);
      }),
    );
  });

  it('sees the same in raw bytes as in their escapes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        const visible = [...bytes].filter((b) => b > 0x7f || (b > 0x60 && b < 0x7b));
        const raw = visible.map((b) => String.fromCharCode(b)).join('');
        const escaped = visible.map((b) => `%${b.toString(16).padStart(2, '0')}`).join('');
        expect(info('GET', `/api/v1/pods/${raw}`)).toEqual(info('GET', `/api/v1/pods/${escaped}`));
      }),
    );
  });

  it('is quick on long targets', () => {
    const many = 500_000;
    for (const hostile of [
      '/'.repeat(many),
      '/.a'.repeat(many),
      '%2e'.repeat(many),
      `?${'a&'.repeat(many)}`,
    ]) {
      const start = performance.now();
      parseRequestInfo('GET', `/api/v1/pods${hostile}`);
      expect(performance.now() - start).toBeLessThan(2000);
    }
  });
});
