// A link to a profile opens it.
function open_target() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", open_target);
open_target();
