// Objects as kubectl 1.32 sends them.
import { expect, it } from 'vitest';
import { bytesField, readFields } from '../../../src/demo/objects/protobuf.ts';
import { readProtobufObject } from '../../../src/demo/objects/protobuf-objects.ts';

const object = (apiVersion: string, kind: string, raw: Buffer) => {
  const typeMeta = Buffer.concat([bytesField(1, apiVersion), bytesField(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), bytesField(1, typeMeta), bytesField(2, raw)]);
};
const code = (code: number) => expect.objectContaining({ code }) as Error;

it('reads text, maps and bytes, and leaves empty fields out', () => {
  const metadata = Buffer.concat([bytesField(1, 's'), bytesField(2, ''), bytesField(8, '')]);
  const entry = Buffer.concat([bytesField(1, 'key'), bytesField(2, 'value')]);
  const raw = Buffer.concat([bytesField(1, metadata), bytesField(2, entry), bytesField(3, 'Opaque')]);
  expect(readProtobufObject(object('v1', 'Secret', raw))).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    data: { key: Buffer.from('value').toString('base64') },
    type: 'Opaque',
  });
});

it('keeps a zero that is a pointer in Go', () => {
  const spec = Buffer.from([0x08, 0x00, 0x28, 0x00]);
  const raw = bytesField(2, spec);
  expect(readProtobufObject(object('apps/v1', 'Deployment', raw))).toMatchObject({ spec: { replicas: 0 } });
});

it.each([
  ['no magic', Buffer.from('{}'), 400],
  ['a message that ends early', Buffer.from('k8s\0\x0a\x7f', 'latin1'), 400],
  ['an unknown kind', object('v1', 'Surprise', Buffer.alloc(0)), 415],
  ['an unknown field', object('v1', 'Namespace', bytesField(9, 'surprise')), 415],
])('refuses %s', (_, body, status) => {
  expect(() => readProtobufObject(body)).toThrow(code(status));
});

it('reads what it writes', () => {
  const long = 'x'.repeat(300);
  const [field] = readFields(bytesField(20, long));
  expect(field?.number).toBe(20);
  expect(String(field?.value)).toBe(long);
});
