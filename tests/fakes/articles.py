"""Article pages as news sites write them. The stories and names are invented."""

BRITISH = """<!DOCTYPE html>
<html lang="en-GB" class="no-js">
<head>
<meta charSet="utf-8"/><meta name="viewport" content="width=device-width"/>
<title>Ministers to scrap the Wexcombe tunnel - ABC News Online</title>
<meta data-react-helmet="true" name="description" content="The &quot;tunnel&quot;"/>
<meta data-react-helmet="true" property="og:site_name" content="ABC News Online"/>
<meta data-react-helmet="true" property="og:title"
 content="Ministers to scrap the Wexcombe tunnel &amp; its &#x27;ghost station&#x27;"/>
<meta data-react-helmet="true" name="twitter:title" content="Tunnel scrapped"/>
<script type="application/ld+json">{"@context":"http://schema.org","@type":"ReportageNewsArticle",
"url":"https://abc.example/news/uk-1","publisher":{"@type":"NewsMediaOrganization","name":"ABC"},
"datePublished":"2019-11-05T06:30:12.000Z","dateModified":"2019-11-06T01:00:00.000Z",
"headline":"Wexcombe tunnel: Ministers to scrap it"}</script>
<style>h1{color:red}</style>
</head>
<body><svg aria-hidden="true"><title>ABC homepage</title></svg>
<h1 id="main-heading" tabindex="-1">Ministers to scrap the Wexcombe tunnel</h1>
<article><time data-testid="timestamp" datetime="2019-11-05T06:30:12.000Z">5 November 2019</time>
<p>It was dug for nothing.</p></article></body></html>
"""

ARGENTINE = """<!doctype html>
<html lang="es"><head>
<!-- <title>plantilla vieja</title> -->
<title>Murió el inventor del semáforo: tenía 98 años - LA GACETA DEL PLATA</title>
<meta property="og:locale" content="es_AR">
<meta property="og:site_name" content="La Gaceta del Plata">
<meta property="og:title" content="">
<meta property="article:published_time" content="2016-03-14T18:05:00-03:00">
<meta property="article:modified_time" content="2016-03-15T09:00:00-03:00">
<script>var plantilla = "<title>no es esto</title>"; dataLayer = [{"fecha": "2001-01-01"}];</script>
<script type="application/ld+json">
{"@context":"https://schema.org","@graph":[
 {"@type":"BreadcrumbList","itemListElement":[]},
 {"@type":["NewsArticle","Article"],
  "headline":"Murió el &quot;padre&quot; del semáforo:\ttenía 98 años",
  "datePublished":"2016-03-14",},
]}
</script>
</head><body><h1><a href="/"><img src="logo.png" alt="La Gaceta"></a></h1>
<h1>Murió el inventor del semáforo</h1></body></html>
"""

REPORT = """<!doctype html>
<html lang="en"><head><title>Harbour traffic in 2024 | The Harbour Gazette</title>
<meta property="og:title" content="Harbour traffic in 2024">
<meta property="og:site_name" content="The Harbour Gazette">
<meta name="author" content="Ana Ruiz">
<meta property="article:published_time" content="2025-02-03T08:00:00Z">
</head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/subscribe">Subscribe now</a></li></ul></nav>
<article><h1>Harbour traffic in 2024</h1>
<p>Traffic grew by 12 percent to 4,310 ships, the port authority said on Monday.</p>
<p>It was the third year in a row in which more ships came than in the year before it.</p>
<h2>What they carried</h2>
<p>Most of the ships carried grain, and one in five of them came from the north.</p>
<ul><li>grain</li><li>timber</li></ul>
<table><tr><th>Year</th><th>Ships</th></tr><tr><td>2023</td><td>3,848</td></tr>
<tr><td>2024</td><td>4,310</td></tr></table>
<h2>What comes next</h2>
<p>The authority expects about as many ships in 2025, unless the canal closes again.</p>
</article>
<div class="related"><a href="/ghost">Read more: the ghost station</a></div>
<div id="comments"><p>I am the first comment here, as ever.</p></div>
<script>var x = "never shown";</script>
</body></html>
"""
