import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HtmlLinks, proxiedLink } from './html-links.ts'

const PREFIX = '/api/v1/namespaces/default/services/web/proxy'
const proxied = { prefix: PREFIX, hosts: ['10.0.0.1:80', '10.0.0.1'], requestHost: 'localhost:8001' }
const rewrite = (link: string) => proxiedLink(link, proxied)

const page = (html: string, sizes: readonly number[] = [html.length * 4 + 1]): string => {
  const links = new HtmlLinks(rewrite)
  const bytes = Buffer.from(html)
  const sent: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    sent.push(Buffer.from(links.write(bytes.subarray(at, at + size))))
    at += size
  }
  return Buffer.concat([...sent, links.end()]).toString()
}

test('a link within the other server leads through the proxy, others stay', () => {
  const cases: [string, string][] = [
    ['/a?b=c#d', `${PREFIX}/a?b=c#d`],
    ['/', `${PREFIX}/`],
    ['http://10.0.0.1:80/a/', `${PREFIX}/a/`],
    ['https://10.0.0.1/a', `${PREFIX}/a`],
    ['//10.0.0.1:80/a', `${PREFIX}/a`],
    ['http://localhost:8001/a', `http://localhost:8001${PREFIX}/a`],
    [`${PREFIX}/a`, `${PREFIX}/a`],
    [`http://10.0.0.1:80${PREFIX}/a`, `${PREFIX}/a`],
  ]
  for (const [link, expected] of cases) assert.equal(rewrite(link), expected)
  for (const link of [
    'a/b',
    '',
    '#top',
    '?q=/x',
    'http://example.com/a',
    '//example.com/a',
    'http://10.0.0.1:81/a',
    'mailto:x@y',
    'http://10.0.0.1:80',
  ])
    assert.equal(rewrite(link), link)
})

test('the links of elements are rewritten, in every way to write them', () => {
  const cases: [string, string][] = [
    ['<a href="/x">y</a>', `<a href="${PREFIX}/x">y</a>`],
    ["<A class=big HREF = '/x?a=1&amp;b=2'>", `<A class=big HREF = '${PREFIX}/x?a=1&amp;b=2'>`],
    ['<img src=/x.png usemap=/m>', `<img src=${PREFIX}/x.png usemap=${PREFIX}/m>`],
    ['<link/href="/x"/>', `<link/href="${PREFIX}/x"/>`],
    ['<a href="/x" href="/y">', `<a href="${PREFIX}/x" href="/y">`],
    ['<a href="&#x2F;x">', `<a href="${PREFIX}/x">`],
    ['<a href="&sol;x&quot;">', `<a href="${PREFIX}/x&quot;">`],
    ['<form method=post action=/x>', `<form method=post action=${PREFIX}/x>`],
    ['<a title=">" href="/ü">', `<a title=">" href="${PREFIX}/ü">`],
    ['<script src="/x.js"></script><a href=/y>', `<script src="${PREFIX}/x.js"></script><a href=${PREFIX}/y>`],
    // An end tag that is not complete does not count towards the next.
    ['<style></styl></style><a href=/y>', `<style></styl></style><a href=${PREFIX}/y>`],
    ['<!--<a href=/x>--><a href=/y>', `<!--<a href=/x>--><a href=${PREFIX}/y>`],
    ['<!--><a href=/y>', `<!--><a href=${PREFIX}/y>`],
    ['<!---!><a href=/x>--!><a href=/y>', `<!---!><a href=/x>--!><a href=${PREFIX}/y>`],
    ['<!DOCTYPE html><?x?><a href=/y>', `<!DOCTYPE html><?x?><a href=${PREFIX}/y>`],
    ['</p title="<a href=/x>"><a href=/y>', `</p title="<a href=/x>"><a href=${PREFIX}/y>`],
  ]
  for (const [html, expected] of cases) assert.equal(page(html), expected)
})

test('text that only looks like a link stays', () => {
  for (const html of [
    '<p href="/x">',
    '<a data-href="/x">',
    '<constructor href="/x">',
    '<script>document.write("<a href=/x>")</script>',
    '<style></styl><a href=/x></style >',
    '<textarea><a href="/x"></textarea>',
    '<plaintext></plaintext><a href=/x>',
    '1 < 2 <a',
    '<a href="/x',
    '<a href=>',
    '< a href="/x">',
    `<a href="/${'x'.repeat(70_000)}">`,
  ])
    assert.equal(page(html), html)
})

test('a page is the same however it arrives', () => {
  const html = fc.array(
    fc.constantFrom('<', 'a ', ' href', '=', '"', "'", '/x', '>', '!--', '--', '!', '</', 'script', 'ü', ' ', '&#47;', 'title'),
    {
      maxLength: 40,
    },
  )
  fc.assert(
    fc.property(html, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }), (parts, sizes) => {
      const text = parts.join('')
      assert.equal(page(text, sizes), page(text))
    }),
  )
})

test('an endless link is not held', () => {
  const links = new HtmlLinks(rewrite)
  links.write(Buffer.from('<a href="/'))
  let sent = 0
  for (let i = 0; i < 20; i++) sent += links.write(Buffer.alloc(10_000, 'x')).length
  assert.equal(sent, 200_001)
  assert.equal(links.write(Buffer.from('"><a href="/y">')).toString(), `"><a href="${PREFIX}/y">`)
})
