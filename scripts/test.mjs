// Everything `npm test` stands for: format and lint, types, the build, then every test. Arguments narrow the test files.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const run = (command, args, env = {}) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) process.exit(status ?? 1)
}
const wanted = process.argv.slice(2)
const tests = ['src', 'test']
  .flatMap(dir => readdirSync(dir, { recursive: true, encoding: 'utf8' }).map(file => join(dir, file)))
  .filter(file => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some(text => file.includes(text))))
  .sort()

if (wanted.length === 0) {
  run('npx', ['biome', 'check', '.'])
  run('npx', ['tsc'])
}
run('node', ['scripts/build.mjs', ...(wanted.length === 0 ? [] : ['--if-stale'])])
run('node', ['--import', 'tsx', '--test', '--test-concurrency=2', ...tests])
