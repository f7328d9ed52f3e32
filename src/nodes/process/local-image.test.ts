import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { withRoot } from './container-folder.ts'
import { LocalImageError, localImages, readLocalImage, wordsOfCommand, wordsOfRun } from './local-image.ts'

const container = (fields: object) => fields as unknown as Container

test('a local image has the words of its command, and a path from the directory of the server', () => {
  assert.deepEqual(readLocalImage('example.com/a:v1=./bin/a --x=1'), { image: 'example.com/a:v1', command: [resolve('bin/a'), '--x=1'] })
  const { command } = readLocalImage(`a=go 'run it' "x \\" y" '' z\\ z`)
  assert.deepEqual(command, ['go', 'run it', 'x " y', '', 'z z'])
  for (const wrong of ['a', '=b', 'a=', 'a b=c', "a='b"]) assert.throws(() => readLocalImage(wrong), LocalImageError, wrong)
})

test('an entry without a tag stands for all tags and digests; one with a tag takes precedence', () => {
  const images = localImages(['host:5000/a=all', 'host:5000/a:v2=two'].map(readLocalImage))
  const of = (image: string) => images.of(image)?.command[0]
  assert.deepEqual(['host:5000/a', 'host:5000/a:v1', 'host:5000/a@sha256:00', 'host:5000/a:v1@sha256:00'].map(of), Array(4).fill('all'))
  assert.deepEqual([of('host:5000/a:v2'), of('host:5000/b'), of('host'), images.of(undefined)], ['two', undefined, undefined, undefined])
})

test('the command takes the place of the program in the image, and a shell is that of the machine', () => {
  const local = readLocalImage('a=wrap /opt/manager')
  assert.deepEqual(wordsOfRun(container({ args: ['--x'] }), local), ['wrap', '/opt/manager', '--x'])
  assert.deepEqual(wordsOfRun(container({ command: ['/app', 'serve'], args: ['--x'] }), local), ['wrap', '/opt/manager', 'serve', '--x'])
  assert.deepEqual(wordsOfRun(container({ command: ['/bin/sh', '-c'], args: ['ls'] }), local), ['/bin/sh', '-c', 'ls'])
  const own = container({ command: ['/app'] })
  assert.deepEqual(wordsOfCommand(['/app', 'version'], own, local), ['wrap', '/opt/manager', 'version'])
  assert.deepEqual(wordsOfCommand(['manager', 'version'], own, local), ['wrap', '/opt/manager', 'version'])
  assert.deepEqual(wordsOfCommand(['cat', '/x'], own, local), ['cat', '/x'])
})

test('paths of mounts get the root of the container before them, and no others', () => {
  const moved = (text: string) => withRoot(text, ['/etc/config', '/etc/config/deep', '/data.d'], '/root')
  assert.equal(moved('--a=/etc/config/x,/etc/config:/etc/configs'), '--a=/root/etc/config/x,/root/etc/config:/etc/configs')
  assert.equal(moved('/etc/config/deep/y'), '/root/etc/config/deep/y')
  assert.equal(moved('/root/etc/config /my/etc/config ./etc/config'), '/root/etc/config /my/etc/config ./etc/config')
  assert.equal(moved("cat '/data.d' /dataxd"), "cat '/root/data.d' /dataxd")
  assert.equal(withRoot('/a', [], '/root'), '/a')
})
