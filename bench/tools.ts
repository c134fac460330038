// Owns the question whether the programs that rows need are installed, and what to say when they are not.
// Never installs anything, and widens PATH for the whole process: children are found the same way.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Row, Tool } from './rows.ts';

// Debian puts nginx and HAProxy where an ordinary user's PATH does not look.
process.env['PATH'] = [process.env['PATH'], '/usr/sbin', '/usr/local/sbin'].join(delimiter);

function isInstalled({ program }: Tool): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** What to tell the user when a program of these rows is not there; undefined when all are. */
export function missingTools(rows: readonly Row[]): string | undefined {
  const missing = new Set(rows.flatMap((row) => row.tools).filter((tool) => !isInstalled(tool)));
  if (missing.size === 0) return undefined;
  const names = [...missing].map((tool) => tool.program).join(', ');
  const packages = [...new Set([...missing].map((tool) => tool.package))].join(' ');
  return `the bench needs ${names}, which are not installed; on Debian: apt-get install ${packages}`;
}
