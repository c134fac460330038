// docs/tour.md names every file under src/, each in one line of its list, and no file that is not there.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const text = readFileSync(new URL('../../../docs/tour.md', import.meta.url), 'utf8');
const list = text.slice(text.indexOf('\n## Every file\n'));
const inRepo = readdirSync(new URL('../../../src/', import.meta.url), { recursive: true, encoding: 'utf8' });
const files = inRepo.filter((file) => file.endsWith('.ts'));
const listed = [...list.matchAll(/^- `([^`]+)`: \S/gm)].map(([, file = '']) => file);

describe('docs/tour.md', () => {
  it('lists every file under src/', () => {
    const missing = files.filter((file) => !listed.includes(file));
    expect(missing, 'no line in "Every file"').toEqual([]);
  });

  it('lists each file once', () => {
    expect(listed).toEqual([...new Set(listed)]);
  });

  it('names no file or folder that is not there', () => {
    const folders = inRepo.filter((file) => !file.endsWith('.ts')).map((folder) => `${folder}/`);
    const named = [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(files.length);
    expect(named.filter((name) => name !== 'src/' && ![...files, ...folders].includes(name))).toEqual([]);
  });

  it('has each file under the heading of its folder, in order', () => {
    const sections = list.split('\n### ').slice(1);
    for (const section of sections) {
      const [heading = ''] = section.split('\n', 1);
      const folder = heading === 'The root' ? '' : `${heading}/`;
      const here = [...section.matchAll(/^- `([^`]+)`/gm)].map(([, file = '']) => file);
      expect(here.map((file) => file.slice(0, file.lastIndexOf('/') + 1))).toEqual(here.map(() => folder));
      expect(here).toEqual([...here].sort());
    }
  });
});
