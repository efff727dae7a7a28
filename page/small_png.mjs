// Makes a PNG small: its colours are brought to a palette of 256. Pictures of the page have few colours
// and many shades between text and background, so nothing is seen of it.
import { deflateSync, inflateSync } from 'node:zlib'

/** The check sum of a chunk; Node 18 has none in its module zlib. */
function crc32(bytes) {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  }
  return (sum ^ 0xffffffff) >>> 0
}

/** The chunks of a PNG: [[type, bytes]…]. */
function chunksOf(png) {
  const chunks = []
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    chunks.push([png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length)])
    at += 12 + length
  }
  return chunks
}

function chunk(type, bytes) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), bytes])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** Undoes the filters of the rows; `size` is that of a pixel in bytes. */
function unfiltered(raw, width, height, size) {
  const stride = width * size
  const pixels = Buffer.alloc(stride * height)
  for (let row = 0; row < height; row += 1) {
    const filter = raw[row * (stride + 1)]
    for (let index = 0; index < stride; index += 1) {
      const here = row * stride + index
      const left = index >= size ? pixels[here - size] : 0
      const up = row > 0 ? pixels[here - stride] : 0
      const corner = row > 0 && index >= size ? pixels[here - stride - size] : 0
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]
      pixels[here] = raw[row * (stride + 1) + 1 + index] + guess
    }
  }
  return pixels
}

function paeth(left, up, corner) {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

/** So many of the colours are kept as they are: the backgrounds, lines and texts. */
const kKept = 48

/** The 256 colours that most pixels have; of several rare ones that are close to each other, the first. */
function paletteOf(counts) {
  const palette = []
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length === 256) break
    if (palette.length < kKept || !palette.some((other) => distance(other, colour) < 60)) palette.push(colour)
  }
  return palette
}

function distance(one, other) {
  let sum = 0
  for (const shift of [16, 8, 0]) sum += (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2
  return sum
}

/** The PNG of an opaque picture with 8 bits a channel, such as a screenshot, with a palette. */
export function smallPng(png) {
  const chunks = chunksOf(png)
  const header = Buffer.from(chunks[0][1])
  const [width, height, size] = [header.readUInt32BE(0), header.readUInt32BE(4), header[9] === 6 ? 4 : 3]
  const pixels = unfiltered(inflateSync(Buffer.concat(chunks.filter(([type]) => type === 'IDAT').map(([, bytes]) => bytes))), width, height, size)
  const colours = new Uint32Array(width * height)
  const counts = new Map()
  for (let index = 0; index < colours.length; index += 1) {
    colours[index] = (pixels[index * size] << 16) | (pixels[index * size + 1] << 8) | pixels[index * size + 2]
    counts.set(colours[index], (counts.get(colours[index]) ?? 0) + 1)
  }
  const palette = paletteOf(counts)
  const places = new Map([...counts.keys()].map((colour) => [colour, palette.reduce((best, other, index) => (distance(other, colour) < distance(palette[best], colour) ? index : best), 0)]))
  const rows = Buffer.alloc((width + 1) * height)
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) rows[row * (width + 1) + 1 + column] = places.get(colours[row * width + column])
  }
  header[9] = 3
  const colourTable = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([png.subarray(0, 8), chunk('IHDR', header), chunk('PLTE', colourTable), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))])
}
