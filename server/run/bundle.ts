import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'

const Root = join(import.meta.dirname, '../..')

/**
 * Bundle programs of the product into `outdir`. `entryPoints` are their files by name, from the root of the repository.
 *
 * At rest a worker holds 113 MB and web 167, which grows by the pages it serves; from source both hold some 20 MB more
 * (measured, resident). Drizzle's hundreds of modules are part of that, so it is bundled: other packages stay outside.
 */
export async function bundle(entryPoints: Record<string, string>, outdir: string, more: BuildOptions = {}) {
  const esbuild = await import('esbuild') // not installed where a finished build is run
  return esbuild.build({
    absWorkingDir: Root,
    entryPoints,
    outdir,
    bundle: true,
    packages: 'external',
    alias: { 'drizzle-orm': join(Root, 'node_modules/drizzle-orm') },
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    logLevel: 'warning',
    ...more,
  })
}
