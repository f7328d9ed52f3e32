// Installs dependencies when they are missing or not those of the lock file, so that `npm start` and `npm test` are enough.
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync } from 'node:fs'

const INSTALLED = 'node_modules/.package-lock.json'

if (!isFresh()) {
  // npm ci would empty the folder of another checkout, and the tests that run there would miss it.
  if (lstatSync('node_modules', { throwIfNoEntry: false })?.isSymbolicLink()) {
    console.error(
      'node_modules is a link to a folder that does not have the dependencies of package-lock.json: run npm ci there, or remove the link',
    )
    process.exit(1)
  }
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { stdio: 'inherit' })
  process.exit(status ?? 1)
}

/** Compares contents: a checkout changes the time of the lock file, and a needless install would remove everything for a while. */
function isFresh() {
  if (!existsSync(INSTALLED)) return false
  const [locked, installed] = ['package-lock.json', INSTALLED].map(dependenciesIn)
  return (
    [...installed.keys()].every(path => locked.has(path)) &&
    [...locked].every(([path, { optional, version, integrity }]) => {
      const found = installed.get(path)
      return found === undefined ? optional === true : found.version === version && found.integrity === integrity
    })
  )
}

/** Packages of this repository are left out: they are used from their folders, and nothing needs their links. */
function dependenciesIn(file) {
  const { packages } = JSON.parse(readFileSync(file, 'utf8'))
  return new Map(Object.entries(packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link))
}
