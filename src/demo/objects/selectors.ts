// Label and field selectors: text of the query -> predicate. Follows k8s.io/apimachinery's pkg/labels and
// pkg/fields; unlike a real server it takes any path as a field, not just the indexed ones.

import { badRequest } from './errors.ts';
import { type KubeObject, path } from './objects.ts';

/** Whether an object is selected. */
export type Predicate = (object: KubeObject) => boolean;

/**
 * The predicate of both selectors of a query (`labelSelector`, `fieldSelector`); absent ones select everything.
 * @throws ApiError 400 when one cannot be read.
 */
export function selection(query: URLSearchParams): Predicate {
  const byLabels = parseLabelSelector(query.get('labelSelector') ?? '');
  const byFields = parseFieldSelector(query.get('fieldSelector') ?? '');
  return (object) => byLabels(object) && byFields(object);
}

type LabelTest = (value: string | undefined) => boolean;

/** `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`; a comma means and. */
export function parseLabelSelector(text: string): Predicate {
  const tests = splitOutsideParentheses(text).map(parseRequirement);
  return ({ metadata }) => tests.every(({ key, test }) => test(metadata.labels?.[key]));
}

const EQUALITY = /^([^\s=!(),]+)\s*(==|=|!=)\s*([^\s=!(),]*)$/;
const SET = /^([^\s=!(),]+)\s+(in|notin)\s+\(([^()]*)\)$/;
const EXISTS = /^(!?)\s*([^\s=!(),]+)$/;

function parseRequirement(text: string): { key: string; test: LabelTest } {
  const [, equalKey, operator, wanted] = EQUALITY.exec(text) ?? [];
  if (equalKey !== undefined) {
    return { key: equalKey, test: (value) => (operator === '!=') !== (value === wanted) };
  }
  const [, setKey, setOperator, list] = SET.exec(text) ?? [];
  if (setKey !== undefined) {
    const values = new Set((list ?? '').split(',').map((each) => each.trim()));
    return {
      key: setKey,
      test: (value) => (setOperator === 'in') === (value !== undefined && values.has(value)),
    };
  }
  const [, not, key] = EXISTS.exec(text) ?? [];
  if (key !== undefined) {
    return { key, test: (value) => (not === '!') === (value === undefined) };
  }
  throw badRequest(`unable to parse requirement: ${text}`);
}

function splitOutsideParentheses(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** `path=value`, `path==value`, `path!=value`; a comma means and. A field that is missing is the empty string. */
export function parseFieldSelector(text: string): Predicate {
  const tests = text
    .split(',')
    .filter((each) => each !== '')
    .map((each) => {
      const [, field, operator, wanted] = /^([\w.-]+)(==|=|!=)(.*)$/.exec(each.trim()) ?? [];
      if (field === undefined) {
        throw badRequest(`invalid field selector: ${each}`);
      }
      return (object: KubeObject) => (operator === '!=') !== (fieldText(object, field) === wanted);
    });
  return (object) => tests.every((test) => test(object));
}

function fieldText(object: KubeObject, field: string): string {
  const value = path(object, ...field.split('.'));
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}
