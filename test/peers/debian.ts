import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const call = promisify(execFile)
const Cache = join(import.meta.dirname, 'node_modules', '.cache')
const Keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

/**
 * The folder with the contents of a package from Debian's backports, fetched once by apt and unpacked; nothing is installed.
 *
 * Throws where apt or the package is missing, or a shared library that `program` (a path inside) needs.
 */
export async function fromBackports(name: string, program: string): Promise<string> {
  const folder = join(Cache, name)
  if (!(await exists(join(folder, program)))) await unpack(name, folder)
  const { stdout } = await call('ldd', [join(folder, program)])
  const missing = stdout.split('\n').filter((line) => line.includes('not found'))
  if (missing.length > 0) throw new Error(`${name} lacks libraries that apt-get can install:\n${missing.join('\n')}`)
  return folder
}

async function unpack(name: string, folder: string): Promise<void> {
  await mkdir(Cache, { recursive: true })
  const work = await mkdtemp(join(Cache, 'apt-'))
  await mkdir(join(work, 'lists', 'partial'), { recursive: true })
  await mkdir(join(work, 'archives', 'partial'), { recursive: true })
  await writeFile(join(work, 'sources.list'), await backportsSource())
  // Lists and archives of its own: the system's stay as they are.
  const apt = (...args: string[]) =>
    call('apt-get', ['-qq', ...optionsFor(work), ...args], { cwd: work, maxBuffer: 16 * 1024 * 1024 })
  await apt('update')
  await apt('download', name)
  const archive = (await readdir(work)).find((file) => file.endsWith('.deb'))
  if (!archive) throw new Error(`apt-get downloaded no ${name}.`)
  await call('dpkg', ['-x', join(work, archive), join(work, 'unpacked')])
  await rm(folder, { recursive: true, force: true })
  await rename(join(work, 'unpacked'), folder)
  await rm(work, { recursive: true })
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
  const { stdout } = await call('apt-get', [
    'indextargets',
    '--format',
    '$(RELEASE) $(REPO_URI)',
    'Created-By: Packages',
  ])
  const mirror = stdout
    .split('\n')
    .find((line) => line.startsWith(`${release} `))
    ?.split(' ')[1]
  if (!mirror) throw new Error('apt is not configured with a Debian mirror.')
  return `deb [signed-by=${Keyring}] ${mirror} ${release}-backports main\n`
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
