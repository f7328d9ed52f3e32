import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { type CustomBench, definitions, openCustomBench, widget, widgetDefinition, widgets } from '../../test/kits/custom-kinds.ts'
import type { WatchEvent, WatchStream } from '../cache/watch-stream.ts'

const NAME = '/widgets.stable.example.com'

/** A minimal informer: it knows only what its watch sends, and resumes when the watch ends. */
class Follower {
  readonly known = new Map<string, string>()
  readonly faults: string[] = []
  #seen: number
  #stopped = false
  readonly #send: CustomBench['send']

  constructor(send: CustomBench['send'], from: number) {
    this.#send = send
    this.#seen = from
    void this.#follow()
  }

  get seen(): number {
    return this.#seen
  }

  stop(): void {
    this.#stopped = true
  }

  async #follow(): Promise<void> {
    if (this.#stopped) return
    const { code, body } = await this.#send(`GET ${widgets(`?watch=true&resourceVersion=${this.#seen}`)}`)
    if (code !== 200) return void this.faults.push(`the watch was answered with ${code}`)
    ;(body as WatchStream).open({
      event: event => this.#take(event),
      end: error => {
        if (error) this.faults.push(error.message)
        setImmediate(() => this.#follow())
      },
      backlog: 0,
      onDrain: resume => setImmediate(resume),
    })
  }

  #take({ type, json }: WatchEvent): void {
    const { metadata } = JSON.parse(Buffer.from(json).toString())
    const revision = Number(metadata.resourceVersion)
    if (revision <= this.#seen) this.faults.push(`revision ${revision} after ${this.#seen}`)
    this.#seen = revision
    if ((type === 'ADDED') !== !this.known.has(metadata.name)) this.faults.push(`${type} of ${metadata.name}`)
    if (type === 'DELETED') this.known.delete(metadata.name)
    else this.known.set(metadata.name, metadata.resourceVersion)
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('write' as const), name: fc.constantFrom('a', 'b', 'c'), size: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('delete' as const), name: fc.constantFrom('a', 'b', 'c') }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('redefine' as const), color: fc.constantFrom('red', 'green', 'blue') }) },
  { weight: 1, arbitrary: fc.constant({ what: 'swap versions' as const }) },
  { weight: 2, arbitrary: fc.constant({ what: 'wait' as const }) },
)

async function take(send: CustomBench['send'], each: any): Promise<void> {
  if (each.what === 'wait') return new Promise(resolve => setImmediate(resolve))
  if (each.what === 'delete') return void (await send(`DELETE ${widgets(`/${each.name}`)}`))
  if (each.what === 'write') {
    const created = await send(`POST ${widgets()}`, widget(each.name, { size: each.size }))
    if (created.code === 409) await send(`PATCH ${widgets(`/${each.name}`)}`, { spec: { size: each.size } })
    else assert.equal(created.code, 201, created.body.message)
    return
  }
  const { body } = await send(`GET ${definitions(NAME)}`)
  const { versions } = body.spec
  if (each.what === 'swap versions') for (const version of versions) version.storage = !version.storage
  else versions[0].schema.openAPIV3Schema.properties.spec.properties.color.default = each.color
  // Another write may come first: the server itself writes definitions.
  await send(`PUT ${definitions(NAME)}`, body)
}

test('watchers see a consistent state however the definition changes', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const { send, define, until, errors, catalog } = await openCustomBench(t)
      await define(widgetDefinition([{ name: 'v1' }, { name: 'v2', storage: false }]))
      const { metadata } = (await send(`GET ${widgets()}`)).body
      const follower = new Follower(send, Number(metadata.resourceVersion))
      for (const each of steps) await take(send, each)
      // The last change of all is one that everybody can wait for.
      await send(`POST ${widgets()}`, widget('last'))
      await until(() => follower.known.has('last') || follower.faults.length > 0)
      follower.stop()
      const { items } = (await send(`GET ${widgets()}`)).body
      assert.deepEqual(
        [...follower.known].sort(),
        items.map((item: any) => [item.metadata.name, item.metadata.resourceVersion]),
      )
      assert.deepEqual([follower.faults, errors], [[], []])
      assert.notEqual(catalog.find('stable.example.com', 'v2', 'widgets'), undefined)
    }),
    { numRuns: 40 },
  )
})
