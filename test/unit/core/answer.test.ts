// Which answers say that the peer did not process the request.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDoubtful, judgeAnswer, MAX_JUDGED_BYTES } from '../../../src/core/answer.ts';
import { readRecording } from './recordings.ts';

describe('isDoubtful', () => {
  it.each<[number, boolean, string | undefined, boolean]>([
    [429, true, undefined, true],
    [429, false, undefined, true],
    [429, false, '60', true],
    [404, true, undefined, true],
    [404, true, '19', true],
    [404, true, '0', true],
    [404, true, String(MAX_JUDGED_BYTES), true],
    [404, true, String(MAX_JUDGED_BYTES + 1), false],
    [429, true, '100000', false],
    // A 404 of a path that is not a resource is an answer.
    [404, false, '19', false],
    [200, true, undefined, false],
    [403, true, undefined, false],
    [405, true, undefined, false],
    [500, true, undefined, false],
    [503, true, undefined, true],
    [503, false, '150', true],
    [503, true, '100000', false],
    [101, true, undefined, false],
    // What is no number is not short.
    [404, true, 'x', false],
  ])('status %i, resource %s, length %s: %s', (status, isResource, length, want) => {
    expect(isDoubtful(status, isResource, length)).toBe(want);
  });
});

const status = (more: object) =>
  JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'the server could not find the requested resource',
    reason: 'NotFound',
    code: 404,
    ...more,
  });

/** A Status in protobuf as Go writes it: empty strings and zeros are written out. Lengths are below 128. */
function protobuf(message: string, details: string, code = '\x30\x94\x03'): string {
  const field = (tag: string, value: string) => `${tag}${String.fromCharCode(value.length)}${value}`;
  const inner = [
    field('\x0a', '\x0a\0\x12\0\x1a\0'),
    field('\x12', 'Failure'),
    field('\x1a', message),
    field('\x22', 'NotFound'),
    details === '-' ? '' : field('\x2a', details),
    code,
  ].join('');
  const type = field('\x0a', field('\x0a', 'v1') + field('\x12', 'Status'));
  return Buffer.from(`k8s\0${type}${field('\x12', inner)}\x1a\0\x22\0`, 'latin1').toString();
}
const VAGUE = 'the server could not find the requested resource';
const NO_DETAILS = '\x0a\0\x12\0\x1a\0\x28\0\x32\0';

describe('judgeAnswer, of a Status in protobuf', () => {
  it.each<[string, string, ReturnType<typeof judgeAnswer>]>([
    ['a type is missing', protobuf(VAGUE, NO_DETAILS), 'typeMissing'],
    ['a type is missing, details of no field', protobuf(VAGUE, ''), 'typeMissing'],
    ['a type is missing, no details', protobuf(VAGUE, '-'), 'typeMissing'],
    ['an object is missing', protobuf('pods "p" not found', '\x0a\x01p\x12\0\x1a\x04pods\x28\0'), undefined],
    ['the vague message with a name', protobuf(VAGUE, '\x0a\x01p\x12\0\x1a\0\x28\0'), undefined],
    ['the vague message and more', protobuf(`${VAGUE} (get pods)`, NO_DETAILS), undefined],
    ['not Kubernetes', protobuf(VAGUE, NO_DETAILS).slice(1), undefined],
  ])('%s', (_, body, want) => {
    expect(judgeAnswer(404, body)).toBe(want);
  });
});

describe('judgeAnswer', () => {
  it.each<[string, number, string, ReturnType<typeof judgeAnswer>]>([
    ['shutting down', 429, 'The apiserver is shutting down, please try again later.', 'shuttingDown'],
    [
      'the same, with a line feed',
      429,
      'The apiserver is shutting down, please try again later.\n',
      'shuttingDown',
    ],
    ['too many requests', 429, 'Too many requests, please try again later.', undefined],
    ['too many requests, empty', 429, '', undefined],
    ['nothing served', 404, '404 page not found\n', 'typeMissing'],
    ['the same, without line feed', 404, '404 page not found', 'typeMissing'],
    ['a type is missing', 404, status({ details: {} }), 'typeMissing'],
    ['a type is missing, no details', 404, status({}), 'typeMissing'],
    ['a type is missing, null details', 404, status({ details: null }), 'typeMissing'],
    [
      'an object is missing',
      404,
      status({ message: 'pods "p" not found', details: { name: 'p', kind: 'pods' } }),
      undefined,
    ],
    ['the vague message with details', 404, status({ details: { kind: 'pods' } }), undefined],
    ['another message without details', 404, status({ message: 'pods "p" not found' }), undefined],
    ['not a Status', 404, status({ kind: 'Error' }), undefined],
    ['the words in a longer text', 404, 'my app says: 404 page not found', undefined],
    ['HTML', 404, '<html>404 page not found</html>', undefined],
    ['JSON null', 404, 'null', undefined],
    ['JSON that is no object', 404, '"404 page not found"', undefined],
    ['JSON list', 404, '[]', undefined],
    ['half a Status', 404, status({}).slice(0, -1), undefined],
    ['empty', 404, '', undefined],
    ['the texts under another status', 200, '404 page not found\n', undefined],
    [
      'shutting down, later',
      503,
      `${status({ message: 'apiserver is shutting down', code: 503 })}\n`,
      'shuttingDown',
    ],
    ['the same text, not a Status', 503, 'apiserver is shutting down', undefined],
    ['a Status that quotes it', 503, status({ message: 'webhook: apiserver is shutting down' }), undefined],
    [
      'unavailable',
      503,
      status({ message: 'the server is currently unable to handle the request' }),
      undefined,
    ],
    ['unavailable, empty', 503, '', undefined],
  ])('%s', (_, code, body, want) => {
    expect(judgeAnswer(code, body)).toBe(want);
  });

  it('knows every 404 that the recorded 1.20.2 gave for a version it only lists', () => {
    const answers = Object.entries(readRecording('shared-etcd.old.legacy')).flatMap(([path, json]) =>
      typeof json === 'string' || (json as { kind?: string }).kind === 'Status'
        ? [[path, json] as const]
        : [],
    );
    expect(answers.length).toBeGreaterThan(20);
    for (const [path, json] of answers) {
      const body = typeof json === 'string' ? json : JSON.stringify(json);
      expect(judgeAnswer(404, body), path).toBe('typeMissing');
      expect(isDoubtful(404, true, String(body.length))).toBe(true);
    }
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.constantFrom(404, 429, 500), fc.oneof(fc.string(), fc.json()), (code, body) => {
        expect([undefined, 'shuttingDown', 'typeMissing']).toContain(judgeAnswer(code, body));
      }),
    );
  });
});
