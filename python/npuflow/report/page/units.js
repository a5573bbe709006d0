// Numbers as people read them.
function bytesText(count) {
  for (const [scale, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (count >= scale) return `${+(count / scale).toPrecision(4)} ${unit}`;
  return `${count} B`;
}

function quantity(value, unit) {
  for (const [scale, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"]])
    if (Math.abs(value) >= scale) return `${+(value / scale).toPrecision(4)} ${prefix}${unit}`;
  return value ? `${+(value / 1e-9).toPrecision(4)} n${unit}` : `0 ${unit}`;
}

const timeText = (cycles, perUs) => quantity(cycles / perUs / 1e6, "s");
const shareText = share => `${share < 0.0995 ? (100 * share).toFixed(1) : (100 * share).toFixed(0)} %`;

// Places of about `count` marks between two numbers, apart by 1, 2 or 5 times a power of ten.
function marks(from, to, count) {
  const raw = (to - from) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * (raw / power < 1.5 ? 1 : raw / power < 3.5 ? 2 : raw / power < 7.5 ? 5 : 10);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to && found.length < 1000; at += step) found.push(at);
  return found;
}
