// A full disk and a restart: the server starts, reads and deletes, and takes writes again once there is space.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, eventually, KEELSON, patient, run, type Scope, startProcess, temporaryDirectory } from '../kit.ts'
import { noteNotRun } from '../programs.ts'

const DISK_BYTES = 32 << 20
const OBJECTS = 30

type Disk = { readonly path: string; enter(...command: string[]): [string, ...string[]] }

/** A disk of its own: a mount that only processes see which are started with `enter`; undefined where that is not allowed. */
async function smallDisk(t: Scope): Promise<Disk | undefined> {
  const path = join(temporaryDirectory(t), 'disk')
  mkdirSync(path)
  const isRoot = process.getuid?.() === 0
  const script = `mount -t tmpfs -o size=${DISK_BYTES} tmpfs '${path}' && echo mounted && exec sleep 100000`
  const own = [...(isRoot ? [] : ['--user', '--map-root-user']), '--mount']
  const holder = spawn('unshare', [...own, 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => holder.kill('SIGKILL'))
  const said = once(holder.stdout, 'data').then(([text]) => String(text))
  const mounted = await Promise.race([said, once(holder, 'exit'), once(holder, 'error')]).catch(() => undefined)
  if (mounted !== 'mounted\n') return undefined
  const namespaces = [...(isRoot ? [] : ['--user', '--preserve-credentials']), '--mount']
  return { path, enter: (...command) => ['nsenter', '--target', String(holder.pid), ...namespaces, '--', ...command] }
}

test('on a full disk the server starts again, reads and deletes, and takes writes once there is space', patient, async t => {
  const disk = await smallDisk(t)
  if (!disk) return t.skip(noteNotRun('nsenter', t.name))
  const dataDir = join(disk.path, 'data')
  const kubeconfig = join(temporaryDirectory(t), 'kubeconfig')
  const options = { dataDir, command: disk.enter(process.execPath, KEELSON), flags: [`--kubeconfig=${kubeconfig}`] }
  const onDisk = (...command: string[]) => {
    const [program, ...args] = disk.enter(...command)
    return run(program, args)
  }
  const size = async () => Number((await onDisk('stat', '-c', '%s', join(dataDir, 'store/keelson.lmdb'))).stdout)
  const create = (name: string, bytes: number) => ({ method: 'POST', body: configMap(name, { text: 'x'.repeat(bytes) }) }) as const

  const first = await startProcess(t, options)
  for (let i = 0; i < OBJECTS; i++) assert.equal((await ask(first, CONFIG_MAPS, create(`m${i}`, 100_000))).status, 201)
  await eventually('the reserve', async () => (await size()) > OBJECTS * 100_000 + (4 << 20) || undefined)
  const filler = join(disk.path, 'filler')
  await onDisk('sh', '-c', `cat /dev/zero > '${filler}'`)
  // At 6256f0f1 the process was often aborted here, by memory that LMDB had damaged when a write failed.
  const full = await eventually('the disk to be full', async () => {
    const answer = await ask(first, CONFIG_MAPS, create(`more-${process.hrtime.bigint()}`, 900_000))
    return answer.status === 201 ? undefined : answer
  })
  assert.equal(full.status, 503, full.text)
  assert.match(full.text, /no space is left on the disk/)
  assert.equal((await ask(first, `${CONFIG_MAPS}/m0`, { method: 'DELETE' })).status, 200)
  await first.stop('SIGKILL')

  // Whatever is free again is taken by others.
  await onDisk('sh', '-c', `cat /dev/zero >> '${filler}'`)
  // At 6256f0f1 the server ended here: no space is left on the disk.
  const second = await startProcess(t, options)
  assert.equal((await ask(second, `${CONFIG_MAPS}/m1`)).json.data.text.length, 100_000)
  for (let i = 1; i < OBJECTS; i++) {
    const { status, text } = await ask(second, `${CONFIG_MAPS}/m${i}`, { method: 'DELETE' })
    assert.equal(status, 200, text)
  }
  const refused = await eventually('large writes to be refused', async () => {
    const answer = await ask(second, CONFIG_MAPS, create(`large-${process.hrtime.bigint()}`, 900_000))
    return answer.status === 201 ? undefined : answer
  })
  assert.equal(refused.status, 503, refused.text)

  await onDisk('rm', filler)
  await eventually(
    'writes to work again',
    async () => (await ask(second, CONFIG_MAPS, create('again', 900_000))).status === 201 || undefined,
  )
  assert.deepEqual(await second.stop(), { code: 0, signal: null })
})
