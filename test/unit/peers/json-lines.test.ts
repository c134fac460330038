import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLines } from '../../../src/edge/peers/json-lines.ts';

// eslint-disable-next-line @typescript-eslint/require-await -- a stream that is there at once
async function* stream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function read(chunks: readonly (string | Uint8Array)[], max?: number): Promise<unknown[]> {
  const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  const values: unknown[] = [];
  for await (const value of jsonLines(stream(bytes), max)) values.push(value);
  return values;
}

describe('jsonLines', () => {
  it.each<[string, string[], unknown[]]>([
    ['nothing', [], []],
    ['one line', ['{"a":1}\n'], [{ a: 1 }]],
    ['two in one chunk', ['{"a":1}\n{"a":2}\n'], [{ a: 1 }, { a: 2 }]],
    ['one in three chunks', ['{"a"', ':', '1}\n'], [{ a: 1 }]],
    ['a border at the newline', ['{"a":1}', '\n', '{"a":2}\n'], [{ a: 1 }, { a: 2 }]],
    ['no newline at the end', ['{"a":1}\n{"a":2}'], [{ a: 1 }, { a: 2 }]],
    ['empty lines and CRLF', ['\n\r\n{"a":1}\r\n\n'], [{ a: 1 }]],
    ['empty chunks', ['', '{"a":1}', '', '\n', ''], [{ a: 1 }]],
  ])('%s', async (_, chunks, values) => {
    expect(await read(chunks)).toEqual(values);
  });

  it('does not care where bytes are cut, in the middle of a character either', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ text: fc.string({ unit: 'grapheme' }) }), { maxLength: 5 }),
        fc.array(fc.nat(200), { maxLength: 10 }),
        async (values, cuts) => {
          const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
          const places = [
            0,
            ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
            bytes.length,
          ];
          const chunks = places.slice(1).map((to, i) => bytes.subarray(places[i], to));
          expect(await read(chunks)).toEqual(values);
        },
      ),
    );
  });

  it('yields a line before the next has come', async () => {
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"a":1}\n{"a"');
      await new Promise(() => undefined);
    }
    const lines = jsonLines(slow());
    expect((await lines.next()).value).toEqual({ a: 1 });
  });

  it.each<[string, (string | Uint8Array)[]]>([
    ['half a line at the end', ['{"a":1}\n{"a"']],
    ['HTML', ['<html>\n']],
    ['broken UTF-8', [Buffer.from([0x22, 0xff, 0x22, 0x0a])]],
    ['an unfinished character', [Buffer.from([0x22, 0xc3, 0x22, 0x0a])]],
  ])('refuses %s, without repeating it', async (_, chunks) => {
    await expect(read(chunks)).rejects.toThrow(/^a line that is not JSON$/);
  });

  it('refuses a line longer than the limit as soon as it is, and takes one of just that length', async () => {
    expect(await read(['"345678"', '\n', '"345678"\n'], 8)).toEqual(['345678', '345678']);
    await expect(read(['"345678', '9"\n'], 8)).rejects.toThrow('more than 8 bytes');
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield await Promise.resolve(Buffer.from('xxxx'));
    }
    await expect(jsonLines(endless(), 1000).next()).rejects.toThrow('more than 1000 bytes');
  });
});
