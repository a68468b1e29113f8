import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './pages.js';

const REPOSITORY = { type: 'git', url: 'git+https://github.com/owner/name.git' };
const CHANGELOG =
  '# Changelog\n\n## 1.2.3 - 2026-01-02\n\n- Something new.\n\n## 1.2.2\n\n- Something old.\n';

describe('tools/release-check.mjs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-release-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function check(
    manifest: object,
    changelog: string,
    ...args: string[]
  ): { status: number | null; output: string } {
    const files = { package: join(folder, 'package.json'), changelog: join(folder, 'CHANGELOG.md') };
    writeFileSync(files.package, JSON.stringify({ name: 'a-package', version: '1.2.3', ...manifest }));
    writeFileSync(files.changelog, changelog);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['tools/release-check.mjs', '--package', files.package, '--changelog', files.changelog, ...args],
      { cwd: ROOT, encoding: 'utf8' },
    );
    return { status, output: stdout + stderr };
  }

  test('lets a version be published that has an address, a tag and a section in the changelog', () => {
    expect(check({ repository: REPOSITORY }, CHANGELOG, 'v1.2.3')).toEqual({
      status: 0,
      output: 'a-package 1.2.3 is ready to publish.\n',
    });
  });

  test('refuses to publish without the address of the repository', () => {
    const { status, output } = check({}, CHANGELOG);
    expect(status).toBe(1);
    expect(output).toContain('package.json has no "repository"');
  });

  test('refuses a tag of another version', () => {
    const { status, output } = check({ repository: REPOSITORY }, CHANGELOG, 'v1.2.4');
    expect(status).toBe(1);
    expect(output).toContain('The tag is v1.2.4, but package.json has version 1.2.3');
  });

  test.each([
    '# Changelog\n\n## Unreleased\n\n- Something.\n',
    '# Changelog\n\n## 1.2.3\n\n## 1.2.2\n\n- Old.\n',
  ])('refuses a version of which the changelog says nothing', (changelog) => {
    const { status, output } = check({ repository: REPOSITORY }, changelog);
    expect(status).toBe(1);
    expect(output).toContain('CHANGELOG.md has no section "## 1.2.3" with a text');
  });

  test('prints the notes of the version, for the release', () => {
    expect(check({ repository: REPOSITORY }, CHANGELOG, '--notes').output).toBe('- Something new.\n');
  });
});
