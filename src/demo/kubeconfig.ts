// A kubeconfig for one server and one token, as JSON, which is YAML too. Writes it to disk and nothing else.

import { writeFile } from 'node:fs/promises';

/** Where a kubeconfig leads. `name` is that of cluster, user and context. */
export interface KubeconfigOptions {
  readonly server: string;
  readonly caFile: string;
  readonly token: string;
  readonly name: string;
}

/** Writes the kubeconfig to `file`, readable by the owner only. */
export async function writeKubeconfig(file: string, options: KubeconfigOptions): Promise<void> {
  const { server, caFile, token, name } = options;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority': caFile } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  await writeFile(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}
