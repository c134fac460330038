// CustomResourceDefinitions for tests: each in a group of its own, followed at once by an object of it.

import { h1, type Target } from './client.ts';
import { bearer } from './load.ts';

export interface Made {
  readonly definition: number;
  readonly object: number;
  /** What the server said of the object. */
  readonly said: string;
}

/** Creates a definition and, without a pause, an object of it. */
async function createTypeAndObject(target: Target, token: string, group: string): Promise<Made> {
  const post = (path: string, json: object) =>
    h1(target, path, bearer(token, { method: 'POST', body: JSON.stringify(json) }));
  const definition = await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  const object = await post(`/apis/${group}/v1/namespaces/default/widgets`, {
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name: 'w' },
  });
  return { definition: definition.status, object: object.status, said: object.text };
}

/** Does so `count` times, `parallel` at a time; returns what failed. */
export async function createMany(
  target: Target,
  token: string,
  { count, parallel }: { readonly count: number; readonly parallel: number },
): Promise<readonly Made[]> {
  const made: Made[] = [];
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < count; i = next++) {
      made.push(await createTypeAndObject(target, token, `g${i}.p${String(process.pid)}.example.com`));
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  return made.filter(({ definition, object }) => definition !== 201 || object !== 201);
}
