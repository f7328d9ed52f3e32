/** Manifests applied by the real kubectl to a real server, and read back. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { ask, freshServer, run, type Target, temporaryDirectory } from './kit.ts'

export type Written = { readonly kind: string; readonly metadata: { readonly name: string; readonly namespace?: string } }
export type Kubectl = (...args: string[]) => Promise<string>

/** The objects in a manifest. */
export const objectsIn = (path: string): Written[] =>
  parseAllDocuments(readFileSync(path, 'utf8'), { merge: true }).map(document => document.toJS() as Written)

/**
 * Applies manifests twice on the client side and twice on the server side; the second time of each changes nothing, and the manifest is
 * read back. kubectl gets all of them at once: most of its processor time it spends before the first object.
 */
export async function applyEachWay(kubectl: Kubectl, ...paths: readonly string[]): Promise<void> {
  const written = paths.flatMap(objectsIn)
  const files = paths.flatMap(path => ['-f', path])
  const apply = async (...flags: string[]) => stored(await kubectl('apply', ...flags, ...files, '-o', 'json'), written)
  const read = async () => stored(await kubectl('get', ...files, '-o', 'json'), written)
  await apply()
  // Read, since components of the server write the status of some.
  const first = await read()
  assert.deepEqual(versionsOf(await apply()), versionsOf(first), 'applying the same again changes nothing')

  // The manifests have passed kubectl's validation, for which it reads the whole OpenAPI document each time.
  const serverSide = ['--server-side', '--force-conflicts', '--validate=false']
  const owned = await apply(...serverSide)
  assert.deepEqual(versionsOf(await apply(...serverSide)), versionsOf(owned), 'nor does it on the side of the server')
  assert.deepEqual(versionsOf(await read()), versionsOf(owned))
}

/** A kubectl for a fresh server; its output is the result. */
export const openKubectl = async (t: TestContext, program: string): Promise<Kubectl> => (await openServer(t, program)).kubectl

/** A fresh server with a kubectl for it. */
export async function openServer(t: TestContext, program: string): Promise<{ server: Target; kubectl: Kubectl }> {
  // Only the controllers that namespaces and pods need: others write the status of applied objects, and the rules of aggregated roles. The
  // webhooks in manifests do not exist here.
  const server = await freshServer(t, {
    controllers: ['namespace-controller', 'garbage-collector-controller', 'serviceaccount-controller', 'service-cidr-controller'],
    disableAdmissionPlugins: ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'],
  })
  const home = temporaryDirectory(t)
  const kubeconfig = join(home, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig)
  const env = { PATH: process.env['PATH'], HOME: home }
  const kubectl: Kubectl = async (...args) => {
    const { code, stdout, stderr } = await run(program, ['--kubeconfig', kubeconfig, '--cache-dir', join(home, 'cache'), ...args], { env })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  return { server, kubectl }
}

/** The objects that kubectl printed, each containing all written fields. */
function stored(output: string, written: readonly Written[]): any[] {
  const printed = JSON.parse(output)
  const items: any[] = printed.kind === 'List' ? printed.items : [printed]
  assert.deepEqual(items.map(identityOf), written.map(identityOf))
  for (const [i, object] of written.entries()) assertContains(items[i], object, identityOf(object))
  return items
}

const identityOf = ({ kind, metadata: { name, namespace = '' } }: Written): string => `${kind} ${namespace}/${name}`
const versionsOf = (objects: readonly any[]): string[] => objects.map(o => `${identityOf(o)} ${o.metadata.resourceVersion}`)

/** All written values are present; empty ones, such as an empty list, may be left out, and the server may add fields. */
function assertContains(actual: any, written: any, at: string): void {
  if (saysNothing(written) && (actual === undefined || actual === null)) return
  if (Array.isArray(written)) {
    assert.ok(Array.isArray(actual) && actual.length >= written.length, `${at} lacks items: ${JSON.stringify(actual)}`)
    for (const [i, item] of written.entries()) assertContains(actual[i], item, `${at}[${i}]`)
  } else if (typeof written === 'object' && written !== null) {
    assert.equal(typeof actual, 'object', at)
    for (const [key, value] of Object.entries(written)) if (!(key in WRITE_ONLY)) assertContains(actual[key], value, `${at}.${key}`)
  } else assert.equal(actual, written, at)
}

const WRITE_ONLY = { stringData: true }
const saysNothing = (value: unknown): boolean =>
  value === null || value === '' || value === false || value === 0 || (Array.isArray(value) && value.length === 0)

/** Replaces some objects of every kind, and their status, by the values that were read; returns those that were stored again. */
export async function storedAnew(server: Target): Promise<string[]> {
  const anew: string[] = []
  for (const path of await replaceable(server)) if (await changesByItself(server, path)) anew.push(path)
  return anew
}

/** Whether a replacement by the value that was read creates another revision. Concurrent writes do not count. */
async function changesByItself(server: Target, path: string): Promise<boolean> {
  for (;;) {
    const { status: found, json: read } = await ask(server, path)
    if (found === 404) return false
    const { status, json: written, text } = await ask(server, path, { method: 'PUT', body: read })
    if (status === 409) continue
    assert.equal(status, 200, `${path}: ${text}`)
    return written.metadata.resourceVersion !== read.metadata.resourceVersion
  }
}

const SOME = 5

async function replaceable(server: Target): Promise<string[]> {
  const groups: any[] = (await ask(server, '/apis')).json.groups
  const roots = ['/api/v1', ...groups.flatMap(({ versions }) => versions.map((v: any) => `/apis/${v.groupVersion}`))]
  const paths: string[] = []
  for (const root of roots) {
    const resources: any[] = (await ask(server, root)).json.resources
    for (const { name, verbs } of resources.filter(({ name }) => !name.includes('/'))) {
      if (!verbs.includes('update')) continue
      const parts = resources.some(other => other.name === `${name}/status`) ? ['', '/status'] : ['']
      for (const { metadata } of (await ask(server, `${root}/${name}`)).json.items.slice(-SOME)) {
        const namespaced = metadata.namespace ? `namespaces/${metadata.namespace}/` : ''
        for (const part of parts) paths.push(`${root}/${namespaced}${name}/${encodeURIComponent(metadata.name)}${part}`)
      }
    }
  }
  return paths
}
