// What `uvip demo` prints, and the objects it suggests to create. Words only: demo.ts writes the files.

/** What the text is about. */
export interface DemoFacts {
  readonly proxyUrl: string;
  readonly kubeconfig: string;
  /** Where kubectl may keep what it has learned of these servers, so that nothing of it outlives the demo. */
  readonly cacheDir: string;
  /** The file with DEMO_OBJECTS. */
  readonly objects: string;
  readonly servers: readonly { name: string; gitVersion: string; url: string; kubeconfig: string }[];
}

/** One object that only the oldest release serves and one that only the newest does. */
export const DEMO_OBJECTS = `apiVersion: policy/v1beta1
kind: PodSecurityPolicy
metadata:
  name: only-the-oldest-serves-me
spec:
  privileged: false
---
apiVersion: storagemigration.k8s.io/v1beta1
kind: StorageVersionMigration
metadata:
  name: only-the-newest-serves-me
spec:
  resource: {group: apps, version: v1, resource: deployments}
`;

/** The text to print once the proxy listens. Commands are whole lines, to be copied. */
export function demoText({ proxyUrl, kubeconfig, cacheDir, objects, servers }: DemoFacts): string {
  const [oldest, newest] = [servers.at(0), servers.at(-1)];
  const serverLines = servers.map(
    ({ name, gitVersion, url }) => `    ${name.padEnd(8)} ${gitVersion.padEnd(8)} ${url}`,
  );
  const alone = (server: typeof oldest, words: string) =>
    `    kubectl --kubeconfig ${server?.kubeconfig ?? ''} ${words}`;
  return [
    `Simulated API servers of ${servers.length} releases, which share one store:`,
    '',
    ...serverLines,
    '',
    `uvip stands in front of them at ${proxyUrl} and makes them look like one.`,
    '',
    'Leave it running. In another terminal, first:',
    '',
    `    export KUBECONFIG=${kubeconfig} KUBECACHEDIR=${cacheDir}`,
    '',
    `1. Through uvip, types of every release work. One object of the file is served by ${oldest?.name} only, the`,
    `   other by ${newest?.name} only:`,
    '',
    `    kubectl apply -f ${objects}`,
    '    kubectl get podsecuritypolicies,storageversionmigrations',
    '',
    '2. The same at a single server fails: each knows only its own release. (Lines with "memcache.go" are',
    "   kubectl's, about groups that this server lacks; the error is the last line.)",
    '',
    alone(oldest, 'get storageversionmigrations'),
    alone(newest, 'get podsecuritypolicies'),
    alone(newest, `apply -f ${objects}`),
    '',
    '3. Streams pass, too. No container runs in this pod; hostname says which server took the request:',
    '',
    '    kubectl run p --image=nginx',
    '    kubectl exec p -- hostname',
    '    kubectl logs -f p',
    '',
    'Ctrl-C in this terminal ends it all.',
    '',
  ].join('\n');
}
