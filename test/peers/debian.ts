import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const Cache = join(import.meta.dirname, 'node_modules', '.cache')
const Keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

/**
 * The folder with the contents of a package from Debian's backports, fetched once by apt and unpacked; nothing is installed.
 *
 * Throws with a sentence where there is no Debian, no mirror, no such package, or a library missing that `program` (a
 * path inside) needs.
 */
export async function fromBackports(name: string, program: string): Promise<string> {
  const folder = join(Cache, name)
  if (!existsSync(join(folder, program))) await unpack(name, folder)
  const { stdout } = await call('ldd', [join(folder, program)])
  const missing = [...stdout.matchAll(/(\S+) => not found/g)].map(([, library]) => library)
  if (missing.length > 0) throw new Error(`${name} needs ${missing.join(', ')}, which this machine does not have.`)
  return folder
}

async function unpack(name: string, folder: string): Promise<void> {
  const source = await backportsSource()
  await mkdir(Cache, { recursive: true })
  const work = await mkdtemp(join(Cache, 'apt-'))
  try {
    await mkdir(join(work, 'lists', 'partial'), { recursive: true })
    await mkdir(join(work, 'archives', 'partial'), { recursive: true })
    await writeFile(join(work, 'sources.list'), source)
    // Lists and archives of its own: the system's stay as they are.
    const apt = (...args: string[]) => call('apt-get', ['-qq', ...optionsFor(work), ...args], { cwd: work })
    await apt('update')
    await apt('download', name)
    const archive = (await readdir(work)).find((file) => file.endsWith('.deb'))
    if (!archive) throw new Error(`apt-get downloaded no ${name}.`)
    await call('dpkg', ['-x', join(work, archive), join(work, 'unpacked')])
    await rm(folder, { recursive: true, force: true })
    await rename(join(work, 'unpacked'), folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function optionsFor(work: string): string[] {
  const settings = {
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': join(work, 'none'),
    'Dir::State::lists': join(work, 'lists'),
    'Dir::Cache': work,
    'APT::Sandbox::User': 'root', // apt's own user may not enter this folder
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

/** The backports of this system's own Debian, from the mirror that it is configured with. */
async function backportsSource(): Promise<string> {
  const release = /^VERSION_CODENAME=(\w+)/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1]
  const { stdout } = await call('apt-get', ['update', '--print-uris']) // works before the first update as well
  const mirror = new RegExp(`'(\\S+)/dists/${release}/InRelease'`).exec(stdout)?.[1]
  if (!mirror) throw new Error('apt is not configured with a Debian mirror.')
  return `deb [signed-by=${Keyring}] ${mirror} ${release}-backports main\n`
}

function call(program: string, args: string[], { cwd = '/' } = {}): Promise<{ stdout: string }> {
  return run(program, args, { cwd, maxBuffer: 16 * 1024 * 1024 })
}
