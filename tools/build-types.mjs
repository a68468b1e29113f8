/**
 * The declarations of the package: one file for each format, with what the public index exports and nothing else,
 * so that no internal type can be imported and an installation has no file for each module of lib.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

const ROOT = join(import.meta.dirname, '..');
const SEPARATE = join(ROOT, 'dist', 'types');
const TARGETS = ['esm', 'cjs'].map((format) => join(ROOT, 'dist', format, 'index.d.ts'));

emitSeparate();
const [first, ...others] = TARGETS;
rollUp(first);
for (const other of others) copyFileSync(first, other);
rmSync(SEPARATE, { recursive: true });

/** A declaration file for each module, as the compiler writes them. */
function emitSeparate() {
  rmSync(SEPARATE, { recursive: true, force: true });
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/typescript/bin/tsc',
      ...['-p', 'lib/tsconfig.build.json', '--noCheck'],
      ...['--declaration', '--emitDeclarationOnly', '--removeComments', 'false', '--outDir', SEPARATE],
    ],
    { cwd: ROOT, stdio: 'inherit' },
  );
  if (status !== 0) process.exit(status ?? 1);
}

function rollUp(target) {
  const configObject = {
    projectFolder: ROOT,
    mainEntryPointFilePath: join(SEPARATE, 'index.d.ts'),
    compiler: { tsconfigFilePath: join(ROOT, 'lib', 'tsconfig.build.json') },
    apiReport: { enabled: false },
    docModel: { enabled: false },
    tsdocMetadata: { enabled: false },
    dtsRollup: { enabled: true, untrimmedFilePath: target },
    messages: {
      compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
    },
  };
  const extractorConfig = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: join(ROOT, 'package.json'),
  });
  const { succeeded } = Extractor.invoke(extractorConfig, { localBuild: true, showVerboseMessages: false });
  if (!succeeded) process.exit(1);
}
