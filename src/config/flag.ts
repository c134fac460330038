// What a row in a table of flags is, by kind of value, and a maker for each kind. It knows no flag by name.

/** `value` stands for the value in help; `default` is what a user would type; `absent` says what holds without one. */
interface Described {
  readonly value: string;
  readonly help: string;
  readonly absent?: string;
}

interface StringFlag<D extends string | undefined = string | undefined> extends Described {
  readonly kind: 'string';
  readonly default: D;
}
/** May be repeated; giving it replaces the default. */
interface ListFlag extends Described {
  readonly kind: 'list';
  readonly default: readonly string[];
}
/** Limits are included; for durations and bytes they are written as a user would write them. */
interface DurationFlag extends Described {
  readonly kind: 'duration';
  readonly default: string;
  readonly min: string;
  readonly max: string;
}
interface BytesFlag extends Described {
  readonly kind: 'bytes';
  readonly default: string;
  readonly min: string;
  readonly max: string;
}
interface IntFlag extends Described {
  readonly kind: 'int';
  readonly default: string;
  readonly min: number;
  readonly max: number;
}
interface FractionFlag extends Described {
  readonly kind: 'fraction';
  readonly default: string;
  readonly min: number;
  readonly max: number;
}
interface EnumFlag<V extends string = string> extends Described {
  readonly kind: 'enum';
  readonly default: V;
  readonly values: readonly V[];
}
interface BooleanFlag extends Described {
  readonly kind: 'boolean';
  readonly default: 'false' | 'true';
}

export type Flag =
  StringFlag | ListFlag | DurationFlag | BytesFlag | IntFlag | FractionFlag | EnumFlag | BooleanFlag;
export type FlagTable = Readonly<Record<string, Flag>>;

// Node's longest timer is 2^31-1 ms, about 596 h; 480 h leaves room for 20 % of jitter.
const LONGEST = '480h';

// Makers of rows: what help shows for the value, the default, what is sane, and the sentence of help.

export const text = (value: string, fallback: string, help: string): StringFlag<string> => ({
  kind: 'string',
  value,
  default: fallback,
  help,
});
export const optional = (value: string, help: string, absent = 'none'): StringFlag<undefined> => ({
  kind: 'string',
  value,
  default: undefined,
  help,
  absent,
});
export const list = (
  value: string,
  fallback: readonly string[],
  help: string,
  absent = 'none',
): ListFlag => ({
  kind: 'list',
  value,
  default: fallback,
  help,
  absent,
});
export const duration = (fallback: string, help: string, min = '1ms'): DurationFlag => ({
  kind: 'duration',
  value: 'DURATION',
  default: fallback,
  help,
  min,
  max: LONGEST,
});
export const int = (
  value: string,
  fallback: string,
  range: readonly [number, number],
  help: string,
): IntFlag => ({
  kind: 'int',
  value,
  default: fallback,
  help,
  min: range[0],
  max: range[1],
});
export const bytes = (fallback: string, range: readonly [string, string], help: string): BytesFlag => ({
  kind: 'bytes',
  value: 'BYTES',
  default: fallback,
  help,
  min: range[0],
  max: range[1],
});
export const fraction = (fallback: string, range: readonly [number, number], help: string): FractionFlag => ({
  kind: 'fraction',
  value: 'FRACTION',
  default: fallback,
  help,
  min: range[0],
  max: range[1],
});
export const oneOf = <const V extends string>(
  values: readonly V[],
  fallback: V,
  help: string,
): EnumFlag<V> => ({
  kind: 'enum',
  value: values.join('|'),
  default: fallback,
  values,
  help,
});
