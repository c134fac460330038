// Protobuf's wire format, both ways, as far as Kubernetes uses it. Knows no messages.
// https://protobuf.dev/programming-guides/encoding/

/** One field as it stands in a message: a number, or bytes that may be text or a message. */
export interface Field {
  readonly number: number;
  readonly value: bigint | Buffer;
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Reads a message into its fields, in order. Throws RangeError when it is none. */
export function readFields(message: Buffer): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < message.length;) {
    const [tag, afterTag] = readVarint(message, at);
    const [value, next] = readValue(message, afterTag, Number(tag & 7n));
    fields.push({ number: Number(tag >> 3n), value });
    at = next;
  }
  return fields;
}

function readValue(message: Buffer, at: number, wireType: number): [bigint | Buffer, number] {
  switch (wireType) {
    case VARINT:
      return readVarint(message, at);
    case BYTES: {
      const [length, start] = readVarint(message, at);
      return slice(message, start, Number(length));
    }
    case FIXED64:
      return slice(message, at, 8);
    case FIXED32:
      return slice(message, at, 4);
    default:
      throw new RangeError(`wire type ${wireType}`);
  }
}

function slice(message: Buffer, start: number, length: number): [Buffer, number] {
  if (start + length > message.length) {
    throw new RangeError('field beyond the end of its message');
  }
  return [message.subarray(start, start + length), start + length];
}

function readVarint(message: Buffer, at: number): [bigint, number] {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = message.readUInt8(at++);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) {
      return [value, at];
    }
  }
  throw new RangeError('varint longer than 64 bits');
}

/** A field of text or of a message, ready to stand in a message. */
export function bytesField(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((number << 3) | BYTES), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}
